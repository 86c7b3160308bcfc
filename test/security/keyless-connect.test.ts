import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request, type RequestOptions } from "node:http";
import { text } from "node:stream/consumers";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { costOf, repeat, type Cost } from "../support/cost.ts";
import { startWorld, type World } from "../support/world.ts";

const TIMES = 10;
/** Largest cost of a rejected request relative to `GET /health`, without and with a body. */
const [RATIO, BODY_RATIO] = [8, 40];
/** Unknown fields: a quarter of the body limit, 20 MB when stored. */
const UNKNOWN = Buffer.alloc(256 * 1024, Buffer.from([0x78, 0]));
const GET_HEALTH = "/toolgate.v1.HealthService/GetHealth";
const PATHS = [GET_HEALTH, "/toolgate.v1.ToolService/GetCapabilities", "/toolgate.v1.ToolService/CallTool"];

function envelope(message: Buffer, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

describe("Connect and gRPC-Web without a key", () => {
  let world: World;
  let health: Cost;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  beforeAll(async () => {
    world = await startWorld();
    const ask = () => answerTo("/health");
    await repeat(4 * TIMES, ask);
    health = await costOf(() => repeat(TIMES, ask));
  });
  afterAll(() => {
    agent.destroy();
    return world.close();
  });

  async function answerTo(path: string, options: RequestOptions = {}, body?: Buffer): Promise<string> {
    const sent = request(`${world.gateway.baseUrl}${path}`, { agent, ...options });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return `${answer.statusCode} ${answer.headers["accept-encoding"]} ${await text(answer)}`;
  }

  async function cheap(path: string, headers?: Record<string, string>, body?: Buffer): Promise<string> {
    let answer = "";
    const ask = async () =>
      (answer = await answerTo(path, { method: body ? "POST" : "GET", headers: headers ?? {} }, body));
    await repeat(3, ask);
    const cost = await costOf(() => repeat(TIMES, ask));
    expect.soft(cost.cpuMs / health.cpuMs).toBeLessThan(body ? BODY_RATIO : RATIO);
    expect.soft(cost.stallMs / Math.max(50, health.stallMs)).toBeLessThan(RATIO);
    expect.soft(cost.grownBytes).toBeLessThan(64 * 1024 * 1024);
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
    const body = envelope(gzipSync(UNKNOWN), 1);
    const answer = await cheap(path, headers, body);
    expect(answer).toMatch(/grpc-status: 12\r\n/);
  });

  it.each(PATHS)("rejects a megabyte of unknown fields at %s", async (path) => {
    const connect = { "content-type": "application/proto" };
    const answer = await cheap(path, connect, UNKNOWN);
    expect(answer).toMatch(/"code":"(resource_exhausted|unauthenticated)"/);
    const web = { "content-type": "application/grpc-web+proto" };
    const again = await cheap(path, web, envelope(UNKNOWN));
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
    const path = "/toolgate.v1.ToolService/GetCapabilities?connect=v1&encoding=json&message=%7B%7D";
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
