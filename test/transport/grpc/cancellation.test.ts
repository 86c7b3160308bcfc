import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { callGrpc, failureOf, grpcClient } from "../grpc-client.ts";

const { callTool } = ToolService.method;
const wait = { tool: "wait", params: {} };

describe("a cancelled gRPC call", () => {
  let gateway: Gateway;
  let client: Client;
  let metadata: { authorization: string };

  beforeAll(async () => {
    gateway = await startGateway();
    client = grpcClient(gateway.grpcAddress);
    metadata = { authorization: gateway.key().authorization };
  });
  afterAll(async () => {
    client.close();
    await gateway.close();
  });

  async function started(): Promise<AbortSignal> {
    const [signal] = await once(gateway.tools.events, "started");
    return signal as AbortSignal;
  }

  it("aborts the service's signal when the client cancels", async () => {
    const controller = new AbortController();
    const call = failureOf(callGrpc(client, callTool, wait, { metadata, signal: controller.signal }));
    const signal = await started();
    expect(signal.aborted).toBe(false);
    controller.abort();
    expect((await call).code).toBe(status.CANCELLED);
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason).toMatchObject({ name: "AbortError" });
  });

  /** A raw call: a client library would enforce the deadline itself. */
  function bareCall(headers: Record<string, string>): {
    session: ClientHttp2Session;
    stream: ClientHttp2Stream;
  } {
    const session = connect(`http://${gateway.grpcAddress}`);
    const stream = session.request({
      ":method": "POST",
      ":path": "/toolgate.v1.ToolService/CallTool",
      "content-type": "application/grpc",
      te: "trailers",
      ...metadata,
      ...headers,
    });
    const message = toBinary(callTool.input, create(callTool.input, wait));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([prefix, message]));
    stream.on("error", () => undefined);
    return { session, stream };
  }

  it("aborts the service's signal when the connection breaks", async () => {
    const { session } = bareCall({});
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
      const answered = Promise.withResolvers<unknown>();
      for (const event of ["response", "trailers"])
        stream.on(event, (headers: Record<string, unknown>) => {
          if (headers["grpc-status"] !== undefined) answered.resolve(headers["grpc-status"]);
        });
      stream.resume();
      const first = await Promise.race([starting, answered.promise]);
      expect(await answered.promise).toBe(String(status.DEADLINE_EXCEEDED));
      session.destroy();
      if (!(first instanceof AbortSignal)) continue;
      expect(first.reason).toMatchObject({ name: "TimeoutError" });
      return;
    }
  });

  it("does not abort the signal of a completed call", async () => {
    const call = callGrpc(client, callTool, wait, { metadata });
    const signal = await started();
    gateway.tools.events.emit("release");
    expect((await call).message.result).toEqual({ waited: true });
    await callGrpc(client, ToolService.method.getCapabilities, {});
    expect(signal.aborted).toBe(false);
  });

  it("logs no error for cancelled calls", () => {
    expect(gateway.logged).toEqual([]);
  });
});
