import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { createGrpcWebTransport as webTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { HealthService, HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { BODY_LIMIT, type Gateway, startGateway } from "../gateway.ts";

const REQUEST_ID = /^req_[0-9a-f]{32}$/;
const echo = { tool: "echo", params: { message: "hi" } };
const wait = { tool: "wait", params: {} };

const PROTOCOLS: [name: string, transport: (baseUrl: string) => Transport][] = [
  ["Connect with JSON", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  [
    "Connect with protobuf",
    (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
  ],
  ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
];

describe.each(PROTOCOLS)("a call over %s", (_name, make) => {
  let gateway: Gateway;
  let transport: Transport;
  let headers: { authorization: string };

  beforeAll(async () => {
    gateway = await startGateway();
    transport = make(gateway.baseUrl);
  });
  beforeEach(() => {
    headers = { authorization: gateway.key({ balance: 1_000_000n }).authorization };
  });
  afterAll(() => gateway.close());

  /** Returns unexpected log entries, after another round trip to flush pending ones. */
  async function unexpected(): Promise<unknown[]> {
    await createClient(ToolService, transport).getCapabilities({});
    return gateway.logged.map(({ err }) => err).filter((err) => !String(err).includes("is down"));
  }

  it("runs a free tool and returns request id and rate headers", async () => {
    const received = new Headers();
    const onHeader = (all: Headers) => all.forEach((value, name) => received.set(name, value));
    const { ok, result } = await createClient(ToolService, transport).callTool(echo, { headers, onHeader });
    expect({ ok, result }).toEqual({ ok: true, result: { echo: "hi" } });
    expect(received.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(received.get("x-ratelimit-limit")).toBe("60");
    expect(received.get("x-ratelimit-remaining")).toBe("9");
  });

  it("charges the balance once per Idempotency-Key", async () => {
    const client = createClient(ToolService, transport);
    const keyed = { headers: { ...headers, "idempotency-key": `k-${Math.random()}` } };
    const first = await client.callTool({ tool: "paid", params: {} }, keyed);
    const again = await client.callTool({ tool: "paid", params: {} }, keyed);
    expect(first.receipt?.debitedUsdcMicrousd).toBe(10_000n);
    expect(again.receipt).toEqual(first.receipt);
    const receipts = await createClient(ReceiptService, transport).listReceipts({}, { headers });
    expect(receipts.items).toEqual([first.receipt]);
    const { items } = await createClient(RunService, transport).listRuns({}, { headers });
    expect(items.map(({ runId }) => runId)).toEqual([first.receipt?.runId]);
  });

  it("maps errors to codes and details", async () => {
    const client = createClient(ToolService, transport);
    const cases: [call: Promise<unknown>, rpc: Code, code: string][] = [
      [client.callTool(echo), Code.Unauthenticated, "UNAUTHORIZED"],
      [client.callTool({ tool: "", params: {} }, { headers }), Code.InvalidArgument, "INVALID_REQUEST"],
      [client.callTool({ tool: "nope", params: {} }, { headers }), Code.NotFound, "TOOL_NOT_FOUND"],
      [client.callTool({ tool: "later", params: {} }, { headers }), Code.Unimplemented, "TOOL_UNAVAILABLE"],
      [client.callTool({ tool: "break", params: {} }, { headers }), Code.Internal, "INTERNAL"],
      [
        client.callTool({ tool: "paid", params: {} }, { headers: { ...headers, "x-payment": "?" } }),
        Code.FailedPrecondition,
        "INVALID_PAYMENT",
      ],
    ];
    for (const [call, rpc, code] of cases) {
      const error = await failed(call);
      const [body] = error.findDetails(ErrorBodySchema);
      expect([Code[error.code], body?.code]).toEqual([Code[rpc], code]);
      expect(error.rawMessage).toBe(body?.message);
      expect(error.metadata.get("x-request-id")).toBe(body?.requestId);
      if (code === "UNAUTHORIZED")
        expect(error.metadata.get("www-authenticate")).toBe('Bearer realm="toolgate"');
      else expect(error.metadata.get("x-ratelimit-remaining")).toBe("9");
    }
  });

  it("returns Retry-After when the key exceeds its rate", async () => {
    const before = gateway.rate.decision;
    gateway.rate.decision = { ...before, allowed: false, remaining: 0, retryAfterSeconds: 3 };
    const error = await failed(createClient(ToolService, transport).callTool(echo, { headers }));
    gateway.rate.decision = before;
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.findDetails(ErrorBodySchema)).toMatchObject([
      { code: "RATE_LIMITED", retryAfterSeconds: 3 },
    ]);
    expect(error.metadata.get("retry-after")).toBe("3");
    expect(error.metadata.get("x-ratelimit-remaining")).toBe("0");
  });

  it("returns the health detail when the database is gone", async () => {
    const client = createClient(HealthService, transport);
    expect(await client.getHealth({})).toMatchObject({ status: "ok" });
    gateway.health.up = false;
    const error = await failed(client.getHealth({}));
    gateway.health.up = true;
    expect(error.code).toBe(Code.Unavailable);
    expect(error.findDetails(HealthUnavailableSchema)).toMatchObject([{ status: "unavailable" }]);
  });

  it("aborts the service's signal when the client disconnects", async () => {
    const controller = new AbortController();
    const call = failed(
      createClient(ToolService, transport).callTool(wait, { headers, signal: controller.signal }),
    );
    const [signal] = (await once(gateway.tools.events, "started")) as [AbortSignal];
    controller.abort();
    expect((await call).code).toBe(Code.Canceled);
    if (!signal.aborted) await once(signal, "abort");
    expect(await unexpected()).toEqual([]);
  });

  it("returns deadline_exceeded after the deadline", async () => {
    const call = failed(createClient(ToolService, transport).callTool(wait, { headers, timeoutMs: 100 }));
    const [signal] = (await once(gateway.tools.events, "started")) as [AbortSignal];
    expect((await call).code).toBe(Code.DeadlineExceeded);
    if (!signal.aborted) await once(signal, "abort");
    expect(await unexpected()).toEqual([]);
  });

  it("rejects a message that is too large", async () => {
    const large = { tool: "echo", params: { message: "x".repeat(BODY_LIMIT) } };
    const error = await failed(createClient(ToolService, transport).callTool(large, { headers }));
    expect(error.code).toBe(Code.ResourceExhausted);
  });

  it("hides the operator's services, which are for gRPC only", async () => {
    const { authorization } = gateway.key({ operator: true });
    const error = await failed(
      createClient(AccountService, transport).getAccount(
        { accountId: "acct_1" },
        { headers: { authorization } },
      ),
    );
    expect(error.code).toBe(Code.Unimplemented);
  });
});

describe("the Connect handler", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());

  const post = (path: string, body: string, headers: Record<string, string>) =>
    fetch(`${gateway.baseUrl}${path}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
  const callTool = "/toolgate.v1.ToolService/CallTool";

  it("lists its path prefixes", () => {
    expect(gateway.prefixes).toEqual([
      "/toolgate.v1.ToolService/",
      "/toolgate.v1.ReceiptService/",
      "/toolgate.v1.RunService/",
      "/toolgate.v1.HealthService/",
    ]);
  });

  it("checks the key before it reads the body", async () => {
    const response = await post(callTool, "no json", {});
    expect([response.status, await response.json()]).toMatchObject([401, { code: "unauthenticated" }]);
    const { authorization } = gateway.key();
    const friend = await post(callTool, "no json", { authorization });
    expect([friend.status, await friend.json()]).toMatchObject([400, { code: "invalid_argument" }]);
  });

  it("rejects unknown members", async () => {
    const { authorization } = gateway.key();
    const answer = await post(callTool, JSON.stringify({ ...echo, toool: 1 }), { authorization });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { message: expect.stringContaining("toool") },
    ]);
  });

  it("returns invalid_argument for a message that is not protobuf", async () => {
    const { authorization } = gateway.key();
    for (const body of ["\x0a\x7f", "\x07", "\xff\xff\xff"]) {
      const answer = await post(callTool, body, { authorization, "content-type": "application/proto" });
      expect([answer.status, answer.headers.get("content-type"), await answer.json()]).toMatchObject([
        400,
        "application/json",
        { code: "invalid_argument", message: expect.stringContaining("toolgate.v1.CallToolRequest") },
      ]);
    }
    const get = `/toolgate.v1.HealthService/GetHealth?connect=v1&encoding=proto&base64=1&message=`;
    expect((await fetch(`${gateway.baseUrl}${get}Cg`)).status).toBe(400);
    expect((await fetch(`${gateway.baseUrl}${get}%3F`)).status).toBe(400);
    expect(gateway.logged).toEqual([]);
  });

  it("returns invalid_argument for a gRPC-Web message that is not protobuf", async () => {
    const headers = { authorization: gateway.key().authorization };
    for (const broken of [[0x0a, 0x7f], [0x07], [0xff, 0xff, 0xff]]) {
      const body = encodeEnvelope(0, Uint8Array.from(broken));
      const transport = webTransport({
        baseUrl: gateway.baseUrl,
        fetch: (input, init) => fetch(input, { ...init, body }),
      });
      const error = await failed(createClient(ToolService, transport).callTool(echo, { headers }));
      expect([error.code, error.rawMessage]).toEqual([
        Code.InvalidArgument,
        expect.stringContaining("toolgate.v1.CallToolRequest"),
      ]);
      expect(error.findDetails(ErrorBodySchema)).toMatchObject([{ code: "INVALID_REQUEST" }]);
    }
    expect(gateway.logged).toEqual([]);
  });

  it("returns 404 for an unknown method and for gRPC", async () => {
    const { authorization } = gateway.key();
    const unknown = await post("/toolgate.v1.ToolService/Nothing", "{}", { authorization });
    await expectPlain(unknown, 404, "NOT_FOUND");
    for (const type of ["application/grpc", "application/connect+json", "text/plain", ""]) {
      await expectPlain(
        await post(callTool, "{}", { authorization, "content-type": type }),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
      );
    }
    await expectPlain(
      await fetch(`${gateway.baseUrl}/toolgate.v1.HealthService/GetHealth?encoding=x`),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    );
  });

  it("returns 405 with the allowed HTTP methods", async () => {
    const read = await fetch(`${gateway.baseUrl}${callTool}`);
    expect(read.headers.get("allow")).toBe("POST");
    await expectPlain(read, 405, "METHOD_NOT_ALLOWED");
    const put = await fetch(`${gateway.baseUrl}/toolgate.v1.HealthService/GetHealth`, { method: "PUT" });
    expect(put.headers.get("allow")).toBe("GET, POST");
    await expectPlain(put, 405, "METHOD_NOT_ALLOWED");
  });

  it("rejects an invalid Host and keeps serving", async () => {
    const { hostname, port } = new URL(gateway.baseUrl);
    for (const host of ["[", "a b", "http://x", "%"]) {
      const request = httpRequest({ hostname, port, path: callTool, method: "POST", headers: { host } });
      request.end("{}");
      const [response] = (await once(request, "response")) as [IncomingMessage];
      response.resume();
      expect(response.statusCode).toBeLessThan(500);
      expect(response.headers["x-request-id"]).toMatch(REQUEST_ID);
    }
  });

  it("sends X-Request-Id with every response", async () => {
    const { authorization } = gateway.key();
    const bodies = [JSON.stringify(echo), "no json", "{}", JSON.stringify({ tool: "x".repeat(BODY_LIMIT) })];
    for (const headers of [
      { authorization },
      {},
      { authorization, "content-type": "application/grpc-web+json" },
    ]) {
      for (const body of bodies) {
        const { headers: received } = await post(callTool, body, headers);
        expect(received.get("x-request-id")).toMatch(REQUEST_ID);
      }
    }
  });

  it("serves methods without side effects by GET", async () => {
    const answer = await fetch(
      `${gateway.baseUrl}/toolgate.v1.HealthService/GetHealth?connect=v1&encoding=json&message=%7B%7D`,
    );
    expect([answer.status, await answer.json()]).toEqual([200, { status: "ok", version: "1.2.3" }]);
  });
});

/** The plain error body, as at every path (specification 7). */
async function expectPlain(answer: Response, status: number, code: string): Promise<void> {
  const requestId = answer.headers.get("x-request-id");
  expect(requestId).toMatch(REQUEST_ID);
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { code, message: expect.stringMatching(/./), request_id: requestId },
  ]);
}

async function failed(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error("the call was expected to fail");
}
