import { once } from "node:events";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { repeat } from "../support/cost.ts";
import { type Gateway, startGateway } from "../transport/gateway.ts";
import { FLAG, FRAME, frame, framesIn, headerBlock, PREFACE } from "./http2-frames.ts";

const CHECK = headerBlock({
  ":method": "POST",
  ":scheme": "http",
  ":authority": "a",
  ":path": "/grpc.health.v1.Health/Check",
  "content-type": "application/grpc",
  te: "trailers",
});
/** CANCEL in RST_STREAM; an increment in WINDOW_UPDATE. */
const EIGHT = Buffer.from([0, 0, 0, 8]);
const [HEAD, HEAD_BEGUN] = [head(1), frame(FRAME.headers, 0, 1, CHECK)];
const MARK = Buffer.from("all read");
const FRAMES = 20_000;

function head(stream: number, flags = 0): Buffer {
  return frame(FRAME.headers, FLAG.endHeaders | flags, stream, CHECK);
}

/** Frames of the streams of a client, which are odd. */
function each(times: number, of: (stream: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: times }, (_, index) => of(2 * index + 1)));
}

const reset = (stream: number) => Buffer.concat([head(stream), frame(FRAME.reset, 0, stream, EIGHT)]);
const wrong = (stream: number) =>
  frame(FRAME.headers, FLAG.endHeaders, stream, headerBlock({ Wrong: "name" }));
const full = Buffer.alloc(20 * 6, Buffer.from([0, 4, 0, 0, 255, 255]));

const CLOSED: [string, Buffer][] = [
  ["streams that are reset at once", each(2_000, reset)],
  ["streams that the server must reset", each(2_000, wrong)],
  ["more streams at once than are allowed", each(2_000, head)],
  ["SETTINGS", each(FRAMES, () => frame(FRAME.settings))],
  ["PING", each(FRAMES, () => frame(FRAME.ping, 0, 0, MARK))],
  ["PRIORITY", each(FRAMES, (stream) => frame(FRAME.priority, 0, stream, Buffer.alloc(5)))],
  ["unknown frames", each(FRAMES, () => frame(99))],
  ["empty DATA", Buffer.concat([HEAD, each(FRAMES, () => frame(FRAME.data, 0, 1))])],
  ["empty CONTINUATION", Buffer.concat([HEAD_BEGUN, each(100, () => frame(FRAME.continuation, 0, 1))])],
  ["CONTINUATION", Buffer.concat([HEAD_BEGUN, each(100, () => frame(FRAME.continuation, 0, 1, CHECK))])],
];

const CHEAP: [string, Buffer][] = [
  ["SETTINGS of 20 entries", each(FRAMES, () => frame(FRAME.settings, 0, 0, full))],
  ["WINDOW_UPDATE", each(FRAMES, () => frame(FRAME.window, 0, 0, EIGHT))],
  [
    "padded empty DATA",
    Buffer.concat([HEAD, each(FRAMES, () => frame(FRAME.data, FLAG.padded, 1, Buffer.of(1, 0)))]),
  ],
  ["DATA of a byte", Buffer.concat([HEAD, each(FRAMES, () => frame(FRAME.data, 0, 1, Buffer.of(0)))])],
];

describe("a flood of HTTP/2 frames", () => {
  let gateway: Gateway;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => gateway.close());

  async function send(bytes: Buffer): Promise<{ closed: boolean; marks: number }> {
    const socket = connect(Number(gateway.grpcAddress.split(":")[1]), "127.0.0.1").on(
      "error",
      () => undefined,
    );
    sockets.push(socket);
    const state = { closed: false, marks: 0 };
    let read = Buffer.alloc(0);
    socket
      .on("close", () => (state.closed = true))
      .on("data", (data) => (read = Buffer.concat([read, data])));
    await once(socket, "connect");
    socket.write(Buffer.concat([PREFACE, bytes]));
    return Object.defineProperty(state, "marks", {
      get: () =>
        framesIn(read).filter(({ type, payload }) => type === FRAME.ping && payload.equals(MARK)).length,
    });
  }

  it.each(CLOSED)("ends the connection after a flood of %s", async (_name, bytes) => {
    const connection = await send(bytes);
    await expect.poll(() => connection.closed).toBe(true);
  });

  it.each(CHEAP)("handles a flood cheaper than requests: %s", async (_name, bytes) => {
    const before = process.threadCpuUsage();
    const connection = await send(Buffer.concat([bytes, frame(FRAME.ping, 0, 0, MARK)]));
    await expect.poll(() => connection.marks).toBe(1);
    const flood = process.threadCpuUsage(before);
    const url = `${gateway.baseUrl}/toolgate.v1.HealthService/GetHealth?connect=v1&encoding=json&message=%7B%7D`;
    const middle = process.threadCpuUsage();
    await repeat(100, async () => void (await (await fetch(url)).text()));
    const requests = process.threadCpuUsage(middle);
    expect((flood.user + flood.system) / FRAMES).toBeLessThan((requests.user + requests.system) / 100);
  });

  it("keeps the connection of a client that cancels 900 calls", async () => {
    const connection = await send(Buffer.concat([each(900, reset), frame(FRAME.ping, 0, 0, MARK)]));
    await expect.poll(() => connection.marks).toBe(1);
    expect(connection.closed).toBe(false);
  });
});
