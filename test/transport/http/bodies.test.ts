import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { readBody } from "../../../src/transport/http/body.ts";
import { BODY_LIMIT, useGateway } from "../gateway.ts";
import { openHttpServer, postHead, useHttpServer } from "../http-server.ts";
import { listen } from "../../support/servers.ts";

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Reads responses of a connection by their Content-Length. */
class Client {
  readonly socket: Socket;
  #bytes = Buffer.alloc(0);
  #ended = false;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => (this.#bytes = Buffer.concat([this.#bytes, chunk])));
    this.socket.on("end", () => (this.#ended = true));
  }

  get text(): string {
    return this.#bytes.toString();
  }

  async next(): Promise<Reply> {
    for (;;) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      const head = this.#bytes.toString("latin1", 0, Math.max(end, 0));
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      const whole = end + 4 + length;
      if (end >= 0 && this.#bytes.length >= whole) {
        const body = this.#bytes.toString("utf8", end + 4, whole);
        this.#bytes = this.#bytes.subarray(whole);
        return { status: Number(head.slice(9, 12)), body };
      }
      if (this.#ended) throw new Error("the connection ended");
      await turn();
    }
  }

  async ended(): Promise<string> {
    while (!this.#ended) await turn();
    return this.text;
  }
}

describe("the HTTP/1.1 server", () => {
  const gateway = useGateway();
  const main = useHttpServer(gateway);
  let authorization: string;
  beforeAll(() => {
    ({ authorization } = gateway.key());
  });

  const head = (...more: string[]) => postHead("/v1/mcp/tools/call", authorization, ...more);
  const call = (params: unknown, tool = "echo") => JSON.stringify({ tool, params });
  const post = (body: string) => head(`Content-Length: ${Buffer.byteLength(body)}`) + body;
  const chunked = (pieces: readonly string[]) =>
    head("Transfer-Encoding: chunked") +
    [...pieces, ""].map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join("");
  const resultOf = ({ body }: Reply) => JSON.parse(body).result;

  it.each([
    ["plain", "x"],
    ["of several bytes", "é ü ı"],
    ["of four bytes", "😀"],
    ["escaped", '\0\u2028"'],
    ["long", "é".repeat(20_000)],
  ])("returns text that is %s with its length in bytes", async (_, message) => {
    const client = new Client(main.port);
    client.socket.write(post(call({ message })) + post(call({ message: "next" })));
    expect(resultOf(await client.next())).toEqual({ echo: message });
    expect(resultOf(await client.next())).toEqual({ echo: "next" });
    client.socket.destroy();
  });

  it("reads whole, chunked and slow bodies, and after Expect", async () => {
    const client = new Client(main.port);
    client.socket.setNoDelay(true);
    const body = call({ message: "é😀" });
    client.socket.write(chunked([...body]));
    expect(resultOf(await client.next())).toEqual({ echo: "é😀" });
    for (const byte of Buffer.from(post(body))) {
      client.socket.write(Uint8Array.of(byte));
      await turn();
    }
    expect(resultOf(await client.next())).toEqual({ echo: "é😀" });
    client.socket.write(head(`Content-Length: ${Buffer.byteLength(body)}`, "Expect: 100-continue"));
    expect((await client.next()).status).toBe(100);
    client.socket.write(body);
    expect(resultOf(await client.next())).toEqual({ echo: "é😀" });
    client.socket.destroy();
  });

  it("reads a gRPC-Web body in 1-byte chunks in time", async () => {
    const client = new Client(main.port);
    const bytes = Buffer.alloc(50_000, "x");
    const length = Buffer.alloc(5);
    length.writeUInt32BE(bytes.length, 1);
    const form = head("Transfer-Encoding: chunked").replace("application/json", "application/grpc-web+proto");
    client.socket.write(form.replace("/v1/mcp/tools/call", "/toolgate.v1.ToolService/CallTool"));
    const pieces = [...length, ...bytes].map((byte) => Buffer.from([49, 13, 10, byte, 13, 10]));
    client.socket.write(Buffer.concat([...pieces, Buffer.from("0\r\n\r\n")]));
    await expect.poll(() => client.text).toContain("grpc-status");
    client.socket.destroy();
  });

  it("keeps the connection after an error whose request was read", async () => {
    const client = new Client(main.port);
    client.socket.write(post(call({}, "nothing")) + post(call({ message: "next" })));
    expect((await client.next()).status).toBe(404);
    expect(resultOf(await client.next())).toEqual({ echo: "next" });
    client.socket.destroy();
  });

  it("answers ten pipelined requests in order", async () => {
    const client = new Client(main.port);
    const numbers = Array.from({ length: 10 }, (_, number) => `number ${number}`);
    client.socket.write(
      numbers
        .map((message, index) => (index % 2 ? post(call({ message })) : chunked([call({ message })])))
        .join(""),
    );
    for (const echo of numbers) expect(resultOf(await client.next())).toEqual({ echo });
    client.socket.destroy();
  });

  it.each(["at once", "in pieces"])("rejects a chunked body that is too long, sent %s", async (how) => {
    const client = new Client(main.port);
    const pieces = Array.from({ length: 9 }, () => "x".repeat(BODY_LIMIT / 8));
    if (how === "at once") client.socket.write(chunked(pieces));
    else client.socket.write(chunked(pieces).slice(0, BODY_LIMIT + 9_000));
    expect((await client.next()).status).toBe(413);
    client.socket.destroy();
  });

  it.each([
    ["is not known yet", () => head("Transfer-Encoding: chunked"), []],
    ["waits", () => head("Transfer-Encoding: chunked").replace("application/json", "text/plain"), [415]],
  ])("answers requests before an unreadable body, whose own response %s", async (_, last, more) => {
    const client = new Client(main.port);
    const signals: AbortSignal[] = [];
    const keep = (signal: AbortSignal) => signals.push(signal);
    gateway.tools.events.on("started", keep);
    client.socket.write(post(call({}, "wait")).repeat(2) + last());
    while (signals.length < 2) await turn();
    gateway.tools.events.off("started", keep);
    client.socket.write("no length\r\n");
    // The body is read in these turns of the event loop.
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
    gateway.tools.events.emit("release");
    expect(resultOf(await client.next())).toEqual({ waited: true });
    expect(resultOf(await client.next())).toEqual({ waited: true });
    for (const status of more) expect((await client.next()).status).toBe(status);
    expect(await client.ended()).toBe("");
    client.socket.destroy();
  });

  it("answers requests on open connections during shutdown", async () => {
    const opened = await openHttpServer(gateway, {});
    const client = new Client(opened.port);
    const started = once(gateway.tools.events, "started");
    client.socket.write(post(call({}, "wait")));
    await started;
    const closed = opened.server.close();
    const second = once(gateway.tools.events, "started");
    client.socket.write(post(call({}, "wait")));
    await second;
    const [releaseFirst] = gateway.tools.events.listeners("release");
    releaseFirst?.();
    expect(resultOf(await client.next())).toEqual({ waited: true });
    gateway.tools.events.emit("release");
    expect(resultOf(await client.next())).toEqual({ waited: true });
    expect(await client.ended()).toBe("");
    client.socket.destroy();
    await closed;
  });
});

it("does not wait for the body of a disconnected client", async () => {
  const server = createServer();
  const port = await listen(server);
  const asked = once(server, "request") as Promise<[IncomingMessage]>;
  const socket = connect(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf");
  const [request] = await asked;
  request.on("error", () => undefined);
  const gone = once(request, "close");
  socket.destroy();
  await gone.catch(() => undefined);
  expect(() => readBody(request, 9)).toThrow(expect.objectContaining({ code: "CANCELLED" }));
  server.close();
});
