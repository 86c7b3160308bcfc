import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { createGrpcWebTransport as webTransport } from "@connectrpc/connect-web";
import { describe, expect, it } from "vitest";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { useGateway } from "../gateway.ts";

const REQUEST_ID = /^req_[0-9a-f]{32}$/;
const echo = { tool: "echo", params: { message: "hi" } };

describe("the Connect handler", () => {
  const gateway = useGateway();

  const post = (path: string, body: string, headers: Record<string, string>) =>
    fetch(`${gateway.baseUrl}${path}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
  const callTool = "/toolgate.v1.ToolService/CallTool";

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

  it("writes times with three digits, and no text of a tool anew", async () => {
    const { authorization } = gateway.key({ balance: 40_000n });
    const message = "2026-01-31T12:00:45Z";
    let web = "";
    const watched: typeof fetch = async (...asked) => {
      const answer = await fetch(...asked);
      web = await answer.clone().text();
      return answer;
    };
    const json = { baseUrl: gateway.baseUrl, useBinaryFormat: false, fetch: watched };
    const client = createClient(ToolService, webTransport(json));
    const free = await post(callTool, JSON.stringify({ tool: "echo", params: { message } }), {
      authorization,
    });
    expect(await free.json()).toMatchObject({ result: { echo: message } });
    for (const [now, text] of [
      ["2026-01-31T12:00:45Z", "2026-01-31T12:00:45.000Z"],
      ["2026-01-31T12:00:45.120Z", "2026-01-31T12:00:45.120Z"],
    ] as const) {
      gateway.ledger.now = () => new Date(now);
      const paid = await post(callTool, JSON.stringify({ tool: "paid", params: {} }), { authorization });
      const body = await paid.text();
      expect(Number(paid.headers.get("content-length") ?? body.length)).toBe(body.length);
      expect(JSON.parse(body)).toMatchObject({ result: { done: true }, receipt: { createdAt: text } });
      const { receipt } = await client.callTool({ tool: "paid", params: {} }, { headers: { authorization } });
      expect([receipt?.createdAt && timestampDate(receipt.createdAt), web]).toEqual([
        new Date(now),
        expect.stringContaining(text),
      ]);
    }
    gateway.ledger.now = () => new Date();
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
