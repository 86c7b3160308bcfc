import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request, type RequestOptions } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { costOf, repeat } from "../support/cost.ts";
import { useWorld } from "../support/use-world.ts";
import { endOf, framed, rawCall, type CallEnd } from "../transport/grpc/raw-call.ts";

const [TIMES, ROUNDS] = [10, 8];
/** Largest cost of a rejected request relative to `GET /health`, including the client's part. */
const [RATIO, BODY_RATIO, MESSAGE_RATIO] = [8, 40, 24];
const MB = 1024 * 1024;
/** Unknown fields: a quarter of the body limit, 20 MB when stored. */
const UNKNOWN = Buffer.alloc(MB / 4, Buffer.from([0x78, 0]));
const BOMB = framed(gzipSync(UNKNOWN), 1);
const [CHECK, GET_HEALTH] = ["/grpc.health.v1.Health/Check", "/toolgate.v1.HealthService/GetHealth"];
const [CAPABILITIES, CALL_TOOL] = [
  "/toolgate.v1.ToolService/GetCapabilities",
  "/toolgate.v1.ToolService/CallTool",
];
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

const world = useWorld();
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const getHealth = () => answerTo("/health");
beforeAll(() => repeat(4 * TIMES, getHealth));
afterAll(() => agent.destroy());

/** Fails if work is expensive beside `GET /health` in each of some rounds: a busy machine adds to some. */
async function expectCheap(work: () => Promise<unknown>, mostCpu: number): Promise<void> {
  const rounds: Record<"cpu" | "stall" | "memory", number>[] = [];
  const isExpensive = ({ cpu, stall, memory }: (typeof rounds)[number]) =>
    cpu >= mostCpu || stall >= RATIO || memory >= 64 * MB;
  while (rounds.length < ROUNDS && rounds.every(isExpensive)) {
    const health = await costOf(() => repeat(TIMES, getHealth));
    const cost = await costOf(work);
    rounds.push({
      cpu: cost.cpuMs / health.cpuMs,
      stall: cost.stallMs / Math.max(50, health.stallMs),
      memory: cost.grownBytes,
    });
  }
  expect(rounds.every(isExpensive), JSON.stringify(rounds)).toBe(false);
}

async function answerTo(path: string, options: RequestOptions = {}, body?: Buffer): Promise<string> {
  const sent = request(`${world.gateway.baseUrl}${path}`, { agent, ...options });
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  return `${answer.statusCode} ${answer.headers["accept-encoding"]} ${await text(answer)}`;
}

describe("Connect and gRPC-Web without a key", () => {
  const PATHS = [GET_HEALTH, CAPABILITIES, CALL_TOOL];

  async function cheap(path: string, headers?: Record<string, string>, body?: Buffer): Promise<string> {
    let answer = "";
    const ask = async () =>
      (answer = await answerTo(path, { method: body ? "POST" : "GET", headers: headers ?? {} }, body));
    await repeat(3, ask);
    await expectCheap(() => repeat(TIMES, ask), body ? BODY_RATIO : RATIO);
    return answer;
  }

  it("rejects a compressed message in a GET, which any page can send", async () => {
    const bomb = "connect=v1&encoding=proto&base64=1&compression=br&message=W___j38KAC8uCwNw7x8C";
    const answer = await cheap(`${GET_HEALTH}?${bomb}`);
    expect(answer).toMatch(/^501 identity .*"code":"unimplemented"/);
  });

  it.each(PATHS)("rejects a compressed body at %s", async (path) => {
    for (const [coding, body] of [
      ["gzip", gzipSync(UNKNOWN)],
      ["br", brotliCompressSync(UNKNOWN)],
    ] as const) {
      const headers = { "content-type": "application/proto", "content-encoding": coding };
      const answer = await cheap(path, headers, body);
      expect(answer).toMatch(/^501 identity .*"code":"unimplemented"/);
    }
  });

  it.each(PATHS)("rejects a compressed gRPC-Web message at %s", async (path) => {
    const headers = { "content-type": "application/grpc-web+proto", "grpc-encoding": "gzip" };
    const answer = await cheap(path, headers, BOMB);
    expect(answer).toMatch(/grpc-status: 12\r\n/);
  });

  it.each(PATHS)("rejects a megabyte of unknown fields at %s", async (path) => {
    const connect = { "content-type": "application/proto" };
    const answer = await cheap(path, connect, UNKNOWN);
    expect(answer).toMatch(/"code":"(resource_exhausted|unauthenticated)"/);
    const web = { "content-type": "application/grpc-web+proto" };
    const again = await cheap(path, web, framed(UNKNOWN));
    expect(again).toMatch(/grpc-status: (8|16)\r\n/);
  });

  it("rejects a long message in a GET", async () => {
    const message = UNKNOWN.toString("base64url", 0, 18_000);
    const answer = await cheap(`${GET_HEALTH}?connect=v1&encoding=proto&base64=1&message=${message}`);
    expect(answer).toMatch(
      /"code":"resource_exhausted","message":"message: is longer than 8192 characters; use POST"/,
    );
  });

  it("skips unknown fields up to the message limit without storing them", async () => {
    const headers = { "content-type": "application/proto" };
    const body = UNKNOWN.subarray(0, 8 * 1024);
    const answer = await cheap(GET_HEALTH, headers, body);
    expect(answer).toMatch(/^200 /);
  });

  it("sends uncompressed responses to save CPU", async () => {
    const headers = { "accept-encoding": "br, gzip" };
    const path = `${CAPABILITIES}?connect=v1&encoding=json&message=%7B%7D`;
    const answer = await fetch(`${world.gateway.baseUrl}${path}`, { headers });
    expect([answer.status, answer.headers.get("content-encoding")]).toEqual([200, null]);
    expect((await answer.text()).length).toBeGreaterThan(1024);
  });

  it("rejects a sign-in of a megabyte", async () => {
    const headers = { "content-type": "application/proto", origin: new URL(world.gateway.consoleUrl).origin };
    const body = randomBytes(16 * 1024);
    const path = "/console/rpc/toolgate.console.v1.SessionService/SignIn";
    expect(await cheap(path, headers, body)).toMatch(/"code":"resource_exhausted"/);
  });
});

describe("gRPC without a key", () => {
  const PATHS = [CHECK, GET_HEALTH, CAPABILITIES, REFLECTION, CALL_TOOL];
  let session: ClientHttp2Session;
  beforeEach(async () => {
    session = connect(`http://${world.gateway.grpcAddress}`).on("error", () => undefined);
    await once(session, "connect");
  });
  afterEach(() => session.destroy());

  /** Sends half-open calls at once while another client polls the health check. */
  async function held(
    calls: number,
    path: string,
    headers: Record<string, string>,
    message: Buffer,
  ): Promise<CallEnd[]> {
    let ends: CallEnd[] = [];
    const work = async () => {
      const streams = Array.from({ length: calls }, () => {
        const stream = rawCall(session, path, headers);
        stream.write(message);
        return endOf(stream);
      });
      await repeat(TIMES, getHealth);
      ends = await Promise.all(streams);
    };
    await expectCheap(work, MESSAGE_RATIO * (1 + calls / TIMES));
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
    await expectCheap(() => repeat(TIMES, streams), RATIO);
  });

  it("ignores binary metadata and long timeouts", async () => {
    const headers = { "a-bin": ",".repeat(20_000), "grpc-timeout": "1".repeat(9_000) };
    const ask = async () => void (await endOf(rawCall(session, CALL_TOOL, headers)));
    await repeat(TIMES, ask);
    await expectCheap(() => repeat(TIMES, ask), RATIO);
  });
});
