import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GRPC_SERVERS, useGateway } from "../gateway.ts";
import { callOf, type CallEnd, endOf, framed, rawCall } from "./raw-call.ts";

const CALL_TOOL = "/toolgate.v1.ToolService/CallTool";
const message = callOf("echo", { message: "hello" });
const COMPRESSED: [string, Uint8Array[]] = [
  "with a compressed message",
  [Buffer.concat([Buffer.of(1), message.subarray(1)])],
];

describe.each(GRPC_SERVERS)("a unary request to the %s gRPC server", (_name, byLibrary) => {
  const gateway = useGateway({}, [], byLibrary);
  let session: ClientHttp2Session;

  beforeAll(async () => {
    session = connect(`http://${gateway.grpcAddress}`);
    await once(session, "connect");
  });
  afterAll(() => session.destroy());

  function send(chunks: readonly Uint8Array[], headers: Record<string, string> = {}): Promise<CallEnd> {
    const stream = rawCall(session, CALL_TOOL, { authorization: gateway.key().authorization, ...headers });
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    return endOf(stream);
  }

  it("is read from single bytes", async () => {
    const bytes = Array.from(message, (byte) => Uint8Array.of(byte));
    expect((await send(bytes)).status).toBe(status.OK);
  });

  it.each<[string, readonly Uint8Array[]]>([
    ["without a message", []],
    ["with half a message", [message.subarray(0, 9)]],
    ["with two messages", [message, message]],
    // grpc-js decompresses.
    ...(byLibrary ? [] : [COMPRESSED]),
  ])("%s is UNIMPLEMENTED", async (_, chunks) => {
    expect(await send(chunks)).toMatchObject({ status: status.UNIMPLEMENTED, code: 0 });
  });

  // grpc-js ignores some of them, and answers the others with INTERNAL.
  it.each(byLibrary ? [] : ["soon", "5", "123456789m", "1e3m", ""])(
    "is rejected for the timeout %j",
    async (timeout) => {
      const end = await send([message], { "grpc-timeout": timeout });
      expect(end.status).toBe(status.INVALID_ARGUMENT);
      expect(end.headers["grpc-message"]).toMatch(/^grpc-timeout:/);
    },
  );

  it.each(["99999999H", "10S", "60000m", "99999999u"])("is served within the timeout %s", async (timeout) => {
    expect((await send([message], { "grpc-timeout": timeout })).status).toBe(status.OK);
  });

  it("reports undecodable messages to callers with a key only", async () => {
    const broken = [framed(Buffer.of(0xff, 0xff))];
    const [stranger, caller] = [await send(broken, { authorization: "" }), await send(broken)];
    expect([stranger.status, caller.status]).toEqual([status.UNAUTHENTICATED, status.INVALID_ARGUMENT]);
    expect(caller.headers["grpc-message"]).toContain("toolgate.v1.CallToolRequest");
  });

  it("of an unknown version is logged once", () => {
    expect(gateway.warned).toEqual(byLibrary ? [{ version: expect.stringMatching(/^1\./) }] : []);
  });

  it("is UNIMPLEMENTED for an unknown method", async () => {
    const stream = rawCall(session, `${CALL_TOOL}s`, { authorization: gateway.key().authorization });
    stream.end(message);
    expect((await endOf(stream)).status).toBe(status.UNIMPLEMENTED);
  });

  it("is 415 with another content type", async () => {
    const end = await send([message], { "content-type": "application/json" });
    expect(end).toMatchObject({ status: undefined, headers: { ":status": 415 } });
  });
});
