import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { type CallEnd, endOf, framed, rawCall } from "./raw-call.ts";

const CALL_TOOL = "/toolgate.v1.ToolService/CallTool";
const message = toBinary(
  CallToolRequestSchema,
  create(CallToolRequestSchema, { tool: "echo", params: { message: "hello" } }),
);

describe("a unary gRPC request", () => {
  let gateway: Gateway;
  let session: ClientHttp2Session;

  beforeAll(async () => {
    gateway = await startGateway();
    session = connect(`http://${gateway.grpcAddress}`);
    await once(session, "connect");
  });
  afterAll(async () => {
    session.destroy();
    await gateway.close();
  });

  function send(chunks: readonly Uint8Array[], headers: Record<string, string> = {}): Promise<CallEnd> {
    const stream = rawCall(session, CALL_TOOL, { authorization: gateway.key().authorization, ...headers });
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    return endOf(stream);
  }

  it("is read from single bytes", async () => {
    const bytes = Array.from(framed(message), (byte) => Uint8Array.of(byte));
    expect((await send(bytes)).status).toBe(status.OK);
  });

  it.each<[string, readonly Uint8Array[]]>([
    ["without a message", []],
    ["with half a message", [framed(message).subarray(0, 9)]],
    ["with two messages", [framed(message), framed(message)]],
    ["with a compressed message", [framed(message, 1)]],
  ])("%s is UNIMPLEMENTED", async (_, chunks) => {
    expect(await send(chunks)).toMatchObject({ status: status.UNIMPLEMENTED, code: 0 });
  });

  it.each(["soon", "5", "123456789m", "1e3m", ""])("is rejected for the timeout %j", async (timeout) => {
    const end = await send([framed(message)], { "grpc-timeout": timeout });
    expect(end.status).toBe(status.INVALID_ARGUMENT);
    expect(end.headers["grpc-message"]).toMatch(/^grpc-timeout:/);
  });

  it.each(["99999999H", "10S", "60000m", "99999999u"])("is served within the timeout %s", async (timeout) => {
    expect((await send([framed(message)], { "grpc-timeout": timeout })).status).toBe(status.OK);
  });

  it("is 415 with another content type", async () => {
    const end = await send([framed(message)], { "content-type": "application/json" });
    expect(end).toMatchObject({ status: undefined, headers: { ":status": 415 } });
  });
});
