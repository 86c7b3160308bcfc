import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type SecureClientSessionOptions,
} from "node:http2";
import { promisify } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { HealthCheckRequestSchema } from "#gen/grpc/health/v1/health_pb.ts";
import type { GrpcLimits } from "../../../src/transport/grpc/server.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { type CallEnd, endOf, framed, questionOf, rawCall } from "./raw-call.ts";

const [CHECK, WATCH] = ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"];
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const CALL_TOOL = "/toolgate.v1.ToolService/CallTool";

describe("waiting gRPC calls", () => {
  let gateway: Gateway;
  const sessions: ClientHttp2Session[] = [];

  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy();
    await gateway.close();
  });

  async function opened(options: SecureClientSessionOptions = {}): Promise<ClientHttp2Session> {
    const session = connect(`http://${gateway.grpcAddress}`, options).on("error", () => undefined);
    sessions.push(session);
    await once(session, "remoteSettings");
    return session;
  }

  const start = async (limits: Partial<GrpcLimits> = {}) => {
    gateway = await startGateway(limits);
  };

  function open(session: ClientHttp2Session, count: number, path = CHECK): ClientHttp2Stream[] {
    return Array.from({ length: count }, () => rawCall(session, path).resume());
  }

  const left = (streams: ClientHttp2Stream[]) => streams.filter(({ closed }) => !closed).length;

  /** Returns how a call ends that must end soon. */
  async function soonEnded(stream: ClientHttp2Stream): Promise<CallEnd> {
    const end = endOf(stream);
    await expect.poll(() => stream.closed).toBe(true);
    return end;
  }

  it("ends the oldest calls without a key above the limit of a connection", async () => {
    await start({ keyless: { perConnection: 4, total: 100 } });
    const session = await opened();
    const streams = open(session, 10);
    const ends = await Promise.all(streams.slice(0, 6).map(soonEnded));
    expect(ends.map((end) => end.status)).toEqual(Array(6).fill(status.RESOURCE_EXHAUSTED));
    expect(streams.map(({ closed }) => closed)).toEqual([...Array(6).fill(true), ...Array(4).fill(false)]);
    const next = rawCall(session, CHECK);
    next.end(framed(new Uint8Array()));
    expect((await endOf(next)).status).toBe(status.OK);
  });

  it("ends unary calls without a key whose small request does not arrive soon", async () => {
    await start({ keylessRequestMs: 100 });
    const session = await opened();
    const { authorization } = gateway.key();
    const others = [rawCall(session, REFLECTION), rawCall(session, CALL_TOOL, { authorization })];
    await expect.poll(() => gateway.rate.asked).toBe(1);
    const half = rawCall(session, CHECK);
    half.write(framed(Buffer.alloc(1_000)).subarray(0, 500));
    expect((await soonEnded(half)).status).toBe(status.DEADLINE_EXCEEDED);
    expect(left(others)).toBe(2);
  });

  it("ends calls of the largest connection above the total limit", async () => {
    await start({ keyless: { perConnection: 100, total: 8 } });
    const few = open(await opened(), 2);
    const many = open(await opened(), 20);
    await expect.poll(() => left(many)).toBe(6);
    expect(left(few)).toBe(2);
  });

  it("counts watches and reflection streams", async () => {
    await start({ keyless: { perConnection: 4, total: 100 } });
    const watches = open(await opened(), 6, WATCH);
    for (const watch of watches) watch.end(framed(new Uint8Array()));
    const reflections = open(await opened(), 6, REFLECTION);
    await expect.poll(() => [left(watches), left(reflections)]).toEqual([4, 4]);
  });

  it("does not count calls with a key", async () => {
    await start({ keyless: { perConnection: 1, total: 1 } });
    const session = await opened();
    const { authorization } = gateway.key();
    const streams = Array.from({ length: 5 }, () => rawCall(session, CALL_TOOL, { authorization }).resume());
    await expect.poll(() => gateway.rate.asked).toBe(5);
    const held = open(session, 2);
    await expect.poll(() => left(held)).toBe(1);
    expect(left(streams)).toBe(5);
  });

  it("rejects a missing or bad key before the message", async () => {
    await start();
    const session = await opened();
    for (const headers of [{}, { authorization: "Bearer sk-agent-unknown" }]) {
      expect(await endOf(rawCall(session, CALL_TOOL, headers))).toMatchObject({
        status: status.UNAUTHENTICATED,
        code: 0,
      });
    }
  });

  it("ends reflection streams whose responses are not read", async () => {
    await start({ answerMs: 100 });
    const stream = rawCall(await opened({ settings: { initialWindowSize: 0 } }), REFLECTION);
    stream.write(questionOf("toolgate.v1.ToolService"));
    expect((await soonEnded(stream)).code).toBe(8);
  });

  it("stops reading reflection requests until responses are read", async () => {
    await start();
    const session = await opened({ settings: { initialWindowSize: 0 } });
    const ping = promisify(session.ping.bind(session));
    const stream = rawCall(session, REFLECTION);
    const [questions, long] = [200, questionOf("x".repeat(1_000))];
    let taken = false;
    stream.write(Buffer.concat(Array<Buffer>(questions).fill(long)), () => (taken = true));
    stream.end();
    for (let pings = 0; pings < 500; pings++) await ping();
    expect(taken).toBe(false);
    session.settings({ initialWindowSize: 1024 * 1024 });
    const answers = Buffer.concat(await stream.toArray()).toString("latin1");
    expect(answers.split("unknown file, symbol or extension").length - 1).toBe(questions);
    expect(taken).toBe(true);
  });

  it("ends idle or excessive reflection streams", async () => {
    await start({ requestMs: 100 });
    const session = await opened();
    const [silent, greedy] = [rawCall(session, REFLECTION), rawCall(session, REFLECTION)];
    silent.write(questionOf("toolgate.v1.ToolService"));
    greedy.write(Buffer.concat(Array.from({ length: 257 }, () => questionOf("a"))));
    const ends = await Promise.all([endOf(silent), endOf(greedy)]);
    expect(ends.map((end) => end.status)).toEqual([status.DEADLINE_EXCEEDED, status.RESOURCE_EXHAUSTED]);
  });

  it("releases watches of unknown services", async () => {
    await start();
    const session = await opened();
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on("warning", warn);
    for (let call = 0; call < 20; call++) {
      const watch = rawCall(session, WATCH);
      watch.end(
        framed(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service: "none" }))),
      );
      await once(watch.resume(), "data");
      watch.close();
    }
    process.off("warning", warn);
    expect(warnings).toEqual([]);
  });
});
