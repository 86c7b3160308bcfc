import { once } from "node:events";
import { connect, type ClientHttp2Session, type ClientHttp2Stream, type SessionOptions } from "node:http2";
import { connect as connectTcp } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { GrpcLimits } from "../../../src/transport/grpc/server.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { openSockets } from "../open-sockets.ts";

/** Longer than any limit and than a busy machine takes. */

const { input } = ToolService.method.callTool;

describe("the gRPC server", () => {
  let gateway: Gateway;
  let session: ClientHttp2Session | undefined;
  let before: number;

  beforeEach(() => {
    before = openSockets();
  });
  afterEach(async () => {
    session?.destroy();
    await gateway.close();
  });

  async function opened(
    limits: Partial<GrpcLimits>,
    options: SessionOptions = {},
  ): Promise<ClientHttp2Session> {
    gateway = await startGateway(limits);
    session = connect(`http://${gateway.grpcAddress}`, options);
    return session;
  }

  /** A raw call: a client library would enforce the deadline itself. */
  function call(to: ClientHttp2Session, headers: Record<string, string> = {}, path = "CallTool") {
    const stream = to.request(
      {
        ":method": "POST",
        ":path": path.startsWith("/") ? path : `/toolgate.v1.ToolService/${path}`,
        "content-type": "application/grpc",
        te: "trailers",
        authorization: gateway.key().authorization,
        ...headers,
      },
      { endStream: false },
    );
    return stream.on("error", () => undefined);
  }

  function message(tool: string, params: Record<string, string> = {}): Buffer {
    const bytes = toBinary(input, create(input, { tool, params }));
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([prefix, bytes]);
  }

  /** Returns the gRPC status, if any, and the reset code of a stream. */
  async function endOf(
    stream: ClientHttp2Stream,
  ): Promise<{ grpcStatus: unknown; code: number | undefined }> {
    let grpcStatus: unknown;
    stream.on("response", (headers) => (grpcStatus = headers["grpc-status"]));
    await once(stream, "close");
    return { grpcStatus, code: stream.rstCode };
  }

  /** Returns the response of an echo. */
  async function said(to: ClientHttp2Session): Promise<string> {
    const stream = call(to);
    stream.end(message("echo", { message: "still here" }));
    return String(Buffer.concat(await stream.toArray()));
  }

  it("ends a request that never completes and serves others on its connection", async () => {
    const to = await opened({ requestMs: 100 });
    const [nothing, half] = [call(to), call(to)];
    half.write(message("echo").subarray(0, 7));
    const late = { grpcStatus: String(status.DEADLINE_EXCEEDED), code: 0 };
    expect(await Promise.all([endOf(nothing.resume()), endOf(half.resume())])).toEqual([late, late]);
    expect(await said(to)).toContain("still here");
  });

  it("ends an incomplete request at its deadline", async () => {
    const to = await opened({});
    const ended = endOf(call(to, { "grpc-timeout": "50m" }).resume());
    expect(await ended).toEqual({ grpcStatus: String(status.DEADLINE_EXCEEDED), code: 0 });
  });

  it("ends a call whose response is not read, but not a long call", async () => {
    const answerMs = 200;
    const to = await opened({ answerMs, requestMs: 100 }, { settings: { initialWindowSize: 0 } });
    const [unread, long] = [call(to), call(to)];
    unread.end(message("echo", { message: "hello" }));
    const started = once(gateway.tools.events, "started");
    long.end(message("wait"));
    await started;
    expect((await endOf(unread)).code).toBe(8);
    expect(long.resume().closed).toBe(false);
    const released = performance.now();
    gateway.tools.events.emit("release");
    expect((await endOf(long)).code).toBe(8);
    expect(performance.now() - released).toBeGreaterThan(answerMs);
  });

  it("closes an idle connection", async () => {
    const to = await opened({ idleMs: 50 });
    await once(to, "close");
    await expect.poll(openSockets).toBe(before);
  });

  it("closes an old connection with its calls", async () => {
    const to = await opened({ ageMs: 50, graceMs: 50 });
    const watching = call(to, {}, "/grpc.health.v1.Health/Watch");
    watching.end(Buffer.alloc(5));
    watching.resume();
    await once(to, "close");
    await expect.poll(openSockets).toBe(before);
  });

  // Shorter than the default ping timeout.
  it("closes a connection without ping replies", async () => {
    gateway = await startGateway({ pingMs: 50, pongMs: 50 });
    const [host = "", port = ""] = gateway.grpcAddress.split(":");
    const silent = connectTcp({ host, port: Number(port), allowHalfOpen: true }).on("error", () => undefined);
    await once(silent, "connect");
    const ended = Promise.race([once(silent.resume(), "end"), once(silent, "close")]);
    await expect(ended).resolves.toBeDefined();
    silent.destroy();
  });

  it("closes a connection above the limit and announces the stream limit", async () => {
    const to = await opened({ connections: 1 });
    const [settings] = await once(to, "remoteSettings");
    expect(settings).toMatchObject({ maxConcurrentStreams: 256 });
    const late = connect(`http://${gateway.grpcAddress}`).on("error", () => undefined);
    await once(late, "close");
    expect(await said(to)).toContain("still here");
    to.destroy();
    const again = () => {
      session?.destroy();
      session = connect(`http://${gateway.grpcAddress}`).on("error", () => undefined);
      return said(session);
    };
    await expect.poll(again).toContain("still here");
  });
});
