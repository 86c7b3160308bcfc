import { once } from "node:events";
import { connect, type ClientHttp2Session, type SessionOptions } from "node:http2";
import { connect as connectTcp } from "node:net";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GrpcLimits } from "../../../src/transport/grpc/server.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { forgetSockets, openSockets } from "../open-sockets.ts";
import { callOf, endOf, rawCall } from "./raw-call.ts";

describe("the gRPC server", () => {
  let gateway: Gateway;
  let session: ClientHttp2Session | undefined;

  beforeEach(forgetSockets);
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

  const call = (to: ClientHttp2Session, headers: object = {}, path = "/toolgate.v1.ToolService/CallTool") =>
    rawCall(to, path, { authorization: gateway.key().authorization, ...headers });

  async function said(to: ClientHttp2Session): Promise<string> {
    const stream = call(to);
    stream.end(callOf("echo", { message: "still here" }));
    return String(Buffer.concat(await stream.toArray()));
  }

  it("ends a request that never completes and serves others on its connection", async () => {
    const to = await opened({ requestMs: 100 });
    const [nothing, half] = [call(to), call(to)];
    half.write(callOf("echo").subarray(0, 7));
    const late = { status: status.DEADLINE_EXCEEDED, code: 0 };
    expect(await Promise.all([endOf(nothing), endOf(half)])).toMatchObject([late, late]);
    expect(await said(to)).toContain("still here");
  });

  it("ends an incomplete request at its deadline", async () => {
    const to = await opened({});
    const ended = endOf(call(to, { "grpc-timeout": "50m" }));
    expect(await ended).toMatchObject({ status: status.DEADLINE_EXCEEDED, code: 0 });
  });

  it("ends a call whose response is not read, but not a long call", async () => {
    const answerMs = 200;
    const to = await opened({ answerMs, requestMs: 100 }, { settings: { initialWindowSize: 0 } });
    const [unread, long] = [call(to), call(to)];
    unread.end(callOf("echo", { message: "hello" }));
    const started = once(gateway.tools.events, "started");
    long.end(callOf("wait"));
    await started;
    await once(unread, "close");
    expect(unread.rstCode).toBe(8);
    expect(long.resume().closed).toBe(false);
    const released = performance.now();
    gateway.tools.events.emit("release");
    await once(long, "close");
    expect(long.rstCode).toBe(8);
    expect(performance.now() - released).toBeGreaterThan(answerMs);
  });

  it("closes an idle connection", async () => {
    const to = await opened({ idleMs: 50 });
    await once(to, "close");
    await expect.poll(openSockets).toBe(0);
  });

  it("closes an old connection with its calls", async () => {
    const to = await opened({ ageMs: 50, graceMs: 50 });
    const watching = call(to, {}, "/grpc.health.v1.Health/Watch");
    watching.end(Buffer.alloc(5));
    watching.resume();
    await once(to, "close");
    await expect.poll(openSockets).toBe(0);
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
