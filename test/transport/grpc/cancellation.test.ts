import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { GRPC_SERVERS, useGateway } from "../gateway.ts";
import { callOf, endOf, rawCall } from "./raw-call.ts";

/** test/transport/protocols.test.ts cancels by a client. */
describe.each(GRPC_SERVERS)("a cancelled call of the %s gRPC server", (_name, byLibrary) => {
  const gateway = useGateway({}, [], byLibrary);

  async function started(): Promise<AbortSignal> {
    const [signal] = await once(gateway.tools.events, "started");
    return signal as AbortSignal;
  }

  /** A raw call: a client library would enforce the deadline itself. */
  function bareCall(headers: object = {}): { session: ClientHttp2Session; stream: ClientHttp2Stream } {
    const session = connect(`http://${gateway.grpcAddress}`);
    const { authorization } = gateway.key();
    const stream = rawCall(session, "/toolgate.v1.ToolService/CallTool", { authorization, ...headers });
    stream.end(callOf("wait"));
    return { session, stream };
  }

  it("aborts the service's signal when the connection breaks", async () => {
    const { session } = bareCall();
    const signal = await started();
    session.destroy();
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError" });
  });

  it("returns DEADLINE_EXCEEDED and aborts the service with a TimeoutError", async () => {
    // On a busy machine a short deadline passes before the service is called.
    for (let deadlineMs = 100; ; deadlineMs *= 4) {
      const starting = started();
      const { session, stream } = bareCall({ "grpc-timeout": `${deadlineMs}m` });
      const ended = endOf(stream);
      const first = await Promise.race([starting, ended]);
      expect((await ended).status).toBe(status.DEADLINE_EXCEEDED);
      session.destroy();
      if (!(first instanceof AbortSignal)) continue;
      expect(first.reason).toMatchObject({ name: "TimeoutError" });
      return;
    }
  });

  it("does not abort the signal of a completed call", async () => {
    const tools = createClient(
      ToolService,
      createGrpcTransport({ baseUrl: `http://${gateway.grpcAddress}` }),
    );
    const headers = { authorization: gateway.key().authorization };
    const call = tools.callTool({ tool: "wait", params: {} }, { headers });
    const signal = await started();
    gateway.tools.events.emit("release");
    expect((await call).result).toEqual({ waited: true });
    await tools.getCapabilities({});
    expect(signal.aborted).toBe(false);
  });

  it("logs no error for cancelled calls", () => {
    expect(gateway.logged).toEqual([]);
  });
});
