import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { costOf, repeat, type Cost } from "../support/cost.ts";
import { startWorld, type World } from "../support/world.ts";
import { endOf, framed, rawCall, type CallEnd } from "../transport/grpc/raw-call.ts";

const TIMES = 10;
/** Largest cost of a rejected call relative to `GET /health`, including the client's part. */
const [RATIO, MESSAGE_RATIO] = [8, 24];
const MB = 1024 * 1024;
/** Unknown fields: 20 MB when stored. */
const UNKNOWN = Buffer.alloc(MB / 4, Buffer.from([0x78, 0]));
const BOMB = framed(gzipSync(UNKNOWN), 1);
const [CHECK, GET_HEALTH] = ["/grpc.health.v1.Health/Check", "/toolgate.v1.HealthService/GetHealth"];
const [CAPABILITIES, CALL_TOOL] = [
  "/toolgate.v1.ToolService/GetCapabilities",
  "/toolgate.v1.ToolService/CallTool",
];
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const PATHS = [CHECK, GET_HEALTH, CAPABILITIES, REFLECTION, CALL_TOOL];

describe("gRPC without a key", () => {
  let world: World;
  let health: Cost;
  let session: ClientHttp2Session;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  beforeAll(async () => {
    world = await startWorld();
    await repeat(4 * TIMES, getHealth);
    health = await costOf(() => repeat(TIMES, getHealth));
  });
  beforeEach(async () => {
    session = connect(`http://${world.gateway.grpcAddress}`).on("error", () => undefined);
    await once(session, "connect");
  });
  afterEach(() => session.destroy());
  afterAll(() => {
    agent.destroy();
    return world.close();
  });

  async function getHealth(): Promise<void> {
    const [answer] = (await once(get(`${world.gateway.baseUrl}/health`, { agent }), "response")) as [
      IncomingMessage,
    ];
    await text(answer);
  }

  /** Sends half-open calls at once while another client polls the health check. */
  async function held(
    calls: number,
    path: string,
    headers: Record<string, string>,
    message: Buffer,
  ): Promise<CallEnd[]> {
    let ends: CallEnd[] = [];
    const cost = await costOf(async () => {
      const streams = Array.from({ length: calls }, () => {
        const stream = rawCall(session, path, headers);
        stream.write(message);
        return endOf(stream);
      });
      await repeat(TIMES, getHealth);
      ends = await Promise.all(streams);
    });
    expect.soft(cost.stallMs / Math.max(50, health.stallMs)).toBeLessThan(RATIO);
    expect.soft(cost.cpuMs / (health.cpuMs * (1 + calls / TIMES))).toBeLessThan(MESSAGE_RATIO);
    expect.soft(cost.grownBytes).toBeLessThan(64 * MB);
    return ends;
  }

  it.each(PATHS)("rejects a compressed message by the headers of %s", async (path) => {
    const ends = await held(16, path, { "grpc-encoding": "gzip" }, BOMB);
    expect(new Set(ends.map((end) => end.status))).toEqual(new Set([status.UNIMPLEMENTED]));
    expect(ends[0]?.headers["grpc-accept-encoding"]).toBe("identity");
  });

  it.each(PATHS)("rejects a long message at %s without reading the rest", async (path) => {
    const ends = await held(16, path, {}, framed(UNKNOWN));
    const expected = path === CALL_TOOL ? status.UNAUTHENTICATED : status.RESOURCE_EXHAUSTED;
    expect(new Set(ends.map((end) => end.status))).toEqual(new Set([expected]));
  });

  it("rejects a call with a bad key before a message is sent", async () => {
    const ends = await held(
      16,
      CALL_TOOL,
      { authorization: `Bearer sk-agent-${"1".repeat(43)}` },
      Buffer.alloc(0),
    );
    expect(new Set(ends.map((end) => end.status))).toEqual(new Set([status.UNAUTHENTICATED]));
  });

  it("serves reflection from memory", async () => {
    const question = framed(Buffer.from("\x22\x18toolgate.v1.AuditService"));
    const streams = async () => {
      const stream = rawCall(session, REFLECTION);
      stream.end(question);
      await endOf(stream);
    };
    await repeat(TIMES, streams);
    const cost = await costOf(() => repeat(TIMES, streams));
    expect(cost.cpuMs / health.cpuMs).toBeLessThan(RATIO);
  });

  it("ignores binary metadata and long timeouts", async () => {
    const headers = { "a-bin": ",".repeat(20_000), "grpc-timeout": "1".repeat(9_000) };
    const ask = async () => void (await endOf(rawCall(session, CALL_TOOL, headers)));
    await repeat(TIMES, ask);
    const cost = await costOf(() => repeat(TIMES, ask));
    expect(cost.cpuMs / health.cpuMs).toBeLessThan(RATIO);
  });
});
