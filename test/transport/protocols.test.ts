import { once } from "node:events";
import { Code, ConnectError, createClient, type Client, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { HealthService, HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { BODY_LIMIT, useGateway, type Gateway } from "./gateway.ts";

/** What needs a failing or waiting service; test/interop/transports.test.ts compares all other answers. */

const wait = { tool: "wait", params: {} };
const http = ({ baseUrl }: Gateway) => ({ baseUrl, httpVersion: "1.1" as const });

const grpc = ({ grpcAddress }: Gateway) => createGrpcTransport({ baseUrl: `http://${grpcAddress}` });

const PROTOCOLS: [name: string, transport: (gateway: Gateway) => Transport, byLibrary?: boolean][] = [
  ["Connect with JSON", (gateway) => createConnectTransport(http(gateway))],
  ["Connect with protobuf", (gateway) => createConnectTransport({ ...http(gateway), useBinaryFormat: true })],
  ["gRPC-Web", (gateway) => createGrpcWebTransport(http(gateway))],
  ["gRPC", grpc],
  ["gRPC by the library alone", grpc, true],
];

describe.each(PROTOCOLS)("a call over %s", (_name, make, byLibrary) => {
  const gateway = useGateway({}, [], byLibrary);
  let tools: Client<typeof ToolService>;
  let transport: Transport;
  let headers: { authorization: string };
  beforeAll(() => {
    transport = make(gateway);
    tools = createClient(ToolService, transport);
  });
  beforeEach(() => {
    headers = { authorization: gateway.key({ balance: 1_000_000n }).authorization };
  });

  /** Returns unexpected log entries, after another round trip to flush pending ones. */
  async function unexpected(): Promise<unknown[]> {
    await tools.getCapabilities({});
    return gateway.logged.map(({ err }) => err).filter((err) => !String(err).includes("is down"));
  }

  async function started(): Promise<AbortSignal> {
    const [signal] = (await once(gateway.tools.events, "started")) as [AbortSignal];
    return signal;
  }

  it("hides unexpected errors and logs them with the request id", async () => {
    const error = await failed(tools.callTool({ tool: "break", params: {} }, { headers }));
    const [body] = error.findDetails(ErrorBodySchema);
    expect([error.code, body?.code]).toEqual([Code.Internal, "INTERNAL"]);
    expect(JSON.stringify([error.rawMessage, body])).not.toContain("secret");
    expect(gateway.logged).toContainEqual({
      request_id: body?.requestId,
      err: expect.objectContaining({ message: expect.stringContaining("is down") }),
    });
  });

  it("returns the health detail when the database is gone", async () => {
    const health = createClient(HealthService, transport);
    expect(await health.getHealth({})).toMatchObject({ status: "ok", version: "1.2.3" });
    gateway.health.up = false;
    const error = await failed(health.getHealth({}));
    gateway.health.up = true;
    expect(error.code).toBe(Code.Unavailable);
    const gone = { status: "unavailable", version: "1.2.3" };
    expect(error.findDetails(HealthUnavailableSchema)).toMatchObject([gone]);
  });

  it("aborts the service's signal when the client disconnects", async () => {
    const controller = new AbortController();
    const call = failed(tools.callTool(wait, { headers, signal: controller.signal }));
    const signal = await started();
    controller.abort();
    expect((await call).code).toBe(Code.Canceled);
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    expect(await unexpected()).toEqual([]);
  });

  it("returns deadline_exceeded after the deadline", async () => {
    const call = failed(tools.callTool(wait, { headers, timeoutMs: 100 }));
    const signal = await started();
    expect((await call).code).toBe(Code.DeadlineExceeded);
    if (!signal.aborted) await once(signal, "abort");
    expect(await unexpected()).toEqual([]);
  });

  it("rejects a message that is too large", async () => {
    const large = { tool: "echo", params: { message: "x".repeat(BODY_LIMIT) } };
    expect((await failed(tools.callTool(large, { headers }))).code).toBe(Code.ResourceExhausted);
  });
});

async function failed(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error("the call was expected to fail");
}
