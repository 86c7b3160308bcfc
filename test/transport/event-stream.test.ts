import { once } from "node:events";
import {
  createServer,
  request as startRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { EventStream } from "../../src/transport/mcp/exchange.ts";
import { listen } from "../support/servers.ts";

/** Server-sent events over a real connection. */

let server: Server;
let port: number;
let streams: EventStream[];
let responses: ServerResponse[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  streams = [];
  responses = [];
  server = createServer((_, response) => {
    responses.push(response);
    streams.push(new EventStream(response, [["x-own", "yes"]]));
  });
  port = await listen(server);
});
afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
});

async function begin(): Promise<{ response: IncomingMessage; stream: EventStream; received: () => string }> {
  const request = startRequest({ port, host: "127.0.0.1" });
  request.end();
  request.on("error", () => {});
  // Node sends the headers with the first event.
  await expect.poll(() => streams).toHaveLength(1);
  const [stream] = streams;
  if (!stream) throw new Error("no stream");
  stream.send({ n: 1 });
  const [response]: IncomingMessage[] = await once(request, "response");
  if (!response) throw new Error("no response");
  let received = "";
  response.on("data", (chunk) => (received += String(chunk)));
  response.on("error", () => {});
  return { response, stream, received: () => received };
}

it("sends headers, events and the final response", async () => {
  const { response, stream, received } = await begin();
  expect(response.headers).toMatchObject({ "content-type": "text/event-stream", "x-own": "yes" });
  const ended = once(response, "end");
  stream.end({ text: "a\n\nb" });
  stream.send({ n: 2 });
  stream.end({ n: 3 });
  await ended;
  expect(received()).toBe('event: message\ndata: {"n":1}\n\nevent: message\ndata: {"text":"a\\n\\nb"}\n\n');
});

it("sends keep-alive comments until it ends", async () => {
  const { stream, received } = await begin();
  vi.advanceTimersByTime(31_000);
  await expect.poll(() => received().split(": \n\n")).toHaveLength(3);
  stream.end({});
  expect(vi.getTimerCount()).toBe(0);
});

it("stops when the client disconnects", async () => {
  const { response, stream } = await begin();
  response.destroy();
  await expect.poll(() => vi.getTimerCount()).toBe(0);
  stream.send({ n: 2 });
  stream.end({});
});

it("buffers almost nothing for a client that does not read", async () => {
  const { response, stream } = await begin();
  response.pause();
  response.socket.pause();
  const [kept] = responses;
  // The system buffers a few megabytes; this is 64.
  for (let sent = 0; sent < 1_000; sent++) {
    stream.send({ text: "x".repeat(64 * 1024) });
    if (sent % 10 === 0) await turn();
  }
  expect(kept?.writableLength).toBeGreaterThan(0);
  expect(kept?.writableLength).toBeLessThan(1024 * 1024);
});
