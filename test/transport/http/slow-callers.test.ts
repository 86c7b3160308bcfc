import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useGateway } from "../gateway.ts";
import { openHttpServer, postHead, useHttpServer } from "../http-server.ts";
import { forgetSockets, openSockets, socketAccepted } from "../open-sockets.ts";

const STALL_MS = 200;
const LIMITS = {
  headMs: 100,
  requestMs: 150,
  stallMs: STALL_MS,
  idleMs: 100,
  lingerMs: 50,
  checkMs: 30,
  connections: 4,
  pipelined: 8,
};

/** A client that never closes its connection. */
class Caller {
  readonly socket: Socket;
  readonly ended: Promise<unknown>;
  text = "";

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.setEncoding("latin1").on("data", (text: string) => (this.text += text));
    this.socket.on("error", () => undefined);
    const closed = once(this.socket, "close").catch(() => undefined);
    this.ended = Promise.race([once(this.socket, "end").catch(() => undefined), closed]);
  }

  get status(): string | undefined {
    return /^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1];
  }
}

describe("the HTTP/1.1 server", () => {
  const gateway = useGateway();
  const main = useHttpServer(gateway, LIMITS);
  let before = 0;
  const callers: Caller[] = [];

  beforeEach(forgetSockets);
  afterEach(async () => {
    for (const { socket } of callers.splice(0)) socket.destroy();
    await expect.poll(openSockets).toBe(0);
  });
  /** Resolves when the gateway has accepted it. */
  async function connected(to = main.port): Promise<Caller> {
    before = openSockets();
    const accepted = socketAccepted();
    const caller = new Caller(to);
    callers.push(caller);
    await accepted;
    return caller;
  }

  /** Resolves when the gateway has closed the last connection. */
  function letGo(): Promise<void> {
    return expect.poll(openSockets).toBe(before);
  }

  /** Resolves when another connection was closed because it did not read for stallMs. */
  async function stalled(): Promise<void> {
    const open = openSockets();
    const accepted = socketAccepted();
    const { socket } = new Caller(main.port);
    socket.pause().write("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await accepted;
    await expect.poll(openSockets).toBe(open);
    socket.destroy();
  }

  /** Repeats a chunk faster than any limit until the gateway closes the connection. */
  async function drip({ socket, ended }: Caller, piece: string): Promise<void> {
    const dripping = setInterval(() => socket.writable && socket.write(piece), 20);
    await ended;
    clearInterval(dripping);
  }

  const post = (path: string, ...headers: string[]) =>
    postHead(path, gateway.key().authorization, ...headers);
  const QUESTION = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

  it("closes a silent connection", async () => {
    const caller = await connected();
    await caller.ended;
    expect(caller.status).toBe("408");
    await letGo();
  });

  it("closes a connection that sends headers slowly", async () => {
    // The limit of the whole request is long enough.
    const opened = await openHttpServer(gateway, { ...LIMITS, requestMs: 600_000 });
    const caller = await connected(opened.port);
    caller.socket.write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    await drip(caller, "X: y\r\n");
    expect(caller.status).toBe("408");
    expect(caller.text).toContain("the request did not arrive in time");
    await letGo();
    await opened.server.close();
  });

  it.each([
    ["of JSON", "/v1/mcp/tools/call"],
    ["to MCP", "/mcp"],
    ["in Connect", "/toolgate.v1.ToolService/CallTool"],
  ])("closes a connection that sends a body %s slowly", async (_, path) => {
    const caller = await connected();
    caller.socket.write(post(path, "Content-Length: 60000"));
    await drip(caller, " ");
    expect(caller.status).toBe("408");
    await letGo();
  });

  it("closes a refused connection that stays open", async () => {
    const caller = await connected();
    caller.socket.write("what?\r\n\r\n");
    await drip(caller, "?");
    // On a busy machine the time limit of the headers may pass before they are read.
    expect(["400", "408"]).toContain(caller.status);
    await letGo();
  });

  it("closes an idle connection after a response", async () => {
    const caller = await connected();
    caller.socket.write(QUESTION);
    await caller.ended;
    expect(caller.status).toBe("200");
    expect(caller.text, "sent in seconds").toMatch(/^keep-alive: timeout=0\r$/im);
    await letGo();
  });

  it("closes a connection that does not read its response", async () => {
    const caller = await connected();
    caller.socket.pause();
    caller.socket.write("GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    await letGo();
    expect(caller.text).toBe("");
  });

  it("closes a connection that does not read its events", async () => {
    const progress = once(gateway.tools.events, "reporting");
    const caller = await connected();
    caller.socket.pause();
    const call = { name: "tell", arguments: {}, _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
    caller.socket.write(post("/mcp", `Content-Length: ${body.length}`) + body);
    const [signal] = await progress;
    // Idle for longer than stallMs, which must not shorten the wait afterwards.
    await stalled();
    gateway.tools.events.emit("release");
    await letGo();
    await expect.poll(() => signal.aborted).toBe(true);
  });

  it("closes a connection with too many pipelined requests only", async () => {
    const patient = await connected();
    patient.socket.write(QUESTION.repeat(LIMITS.pipelined));
    await expect.poll(() => patient.text.split("HTTP/1.1 200").length - 1).toBe(LIMITS.pipelined);
    patient.socket.destroy();
    await expect.poll(openSockets).toBe(before);
    const caller = await connected();
    caller.socket.write(QUESTION.repeat(LIMITS.pipelined + 1));
    await letGo();
    expect(caller.text).toBe("");
  });

  it("serves no request behind one that ends the connection", async () => {
    const caller = await connected();
    const { checks } = gateway.health;
    caller.socket.write(`POST /large HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n${QUESTION}`);
    await letGo();
    expect(caller.text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 405"]);
    expect(gateway.health.checks).toBe(checks);
  });

  it("keeps a connection that pipelines and reads", async () => {
    const caller = await connected();
    const answers = () => expect.poll(() => caller.text.split("HTTP/1.1 200").length - 1);
    const body = '{"tool":"wait","params":{}}';
    const started = once(gateway.tools.events, "started");
    const others = QUESTION.repeat(LIMITS.pipelined - 1);
    caller.socket.write(others + post("/v1/mcp/tools/call", `Content-Length: ${body.length}`) + body);
    await started;
    await answers().toBe(LIMITS.pipelined - 1);
    const { checks } = gateway.health;
    caller.socket.write(others);
    await expect.poll(() => gateway.health.checks).toBe(checks + LIMITS.pipelined - 1);
    gateway.tools.events.emit("release");
    await answers().toBe(LIMITS.pipelined * 2 - 1);
  });

  it("starts no work behind an answer that is not read, then answers in order", async () => {
    const opened = await openHttpServer(gateway, { pipelined: 8 });
    const caller = await connected(opened.port);
    caller.socket.pause();
    const { checks } = gateway.health;
    caller.socket.write(`${QUESTION}GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${QUESTION.repeat(3)}`);
    await expect.poll(() => gateway.health.checks).toBe(checks + 1);
    await connected(opened.port).then(({ ended }) => ended);
    expect(gateway.health.checks).toBe(checks + 1);
    caller.socket.resume();
    await expect.poll(() => caller.text.split("HTTP/1.1 200").length - 1).toBe(5);
    expect(gateway.health.checks).toBe(checks + 4);
    expect(caller.text.split("HTTP/1.1 200").map((answer) => answer.length > 1_000_000)).toEqual([
      ...[false, false, true],
      ...[false, false, false],
    ]);
    caller.socket.destroy();
    await opened.server.close();
  });

  it("closes a connection above the limit", async () => {
    const others = Array.from({ length: LIMITS.connections }, () => new Caller(main.port));
    await Promise.all(others.map(({ socket }) => once(socket, "connect")));
    const late = new Caller(main.port);
    await late.ended;
    expect(late.text).toBe("");
    for (const { socket } of [...others, late]) socket.destroy();
    await expect.poll(openSockets).toBe(0);
    // Writes at once: the limit for the head is short.
    const next = new Caller(main.port);
    callers.push(next);
    next.socket.write(QUESTION);
    await expect.poll(() => next.status).toBe("200");
  });

  it("keeps a connection with a long call", async () => {
    // On a busy machine the request itself takes time.
    const limits = { ...LIMITS, headMs: 600_000, requestMs: 600_000 };
    const opened = await openHttpServer(gateway, limits);
    const caller = await connected(opened.port);
    const body = '{"tool":"wait","params":{}}';
    const started = once(gateway.tools.events, "started");
    caller.socket.write(post("/v1/mcp/tools/call", `Content-Length: ${body.length}`) + body);
    await started;
    await stalled();
    gateway.tools.events.emit("release");
    await expect.poll(() => caller.text).toContain('"waited":true');
    caller.socket.destroy();
    await opened.server.close();
  });
});
