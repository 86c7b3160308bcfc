import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useGateway } from "../gateway.ts";
import { postText, useHttpServer } from "../http-server.ts";
import { forgetSockets, openSockets } from "../open-sockets.ts";

describe("a client that disconnects", () => {
  const gateway = useGateway();
  const opened = useHttpServer(gateway);
  let authorization: string;
  /** Signals of the running `wait` calls. */
  let signals: AbortSignal[];

  beforeAll(() => {
    ({ authorization } = gateway.key());
    gateway.tools.events.on("started", (signal) => signals.push(signal));
  });
  beforeEach(() => {
    forgetSockets();
    signals = [];
  });
  afterEach(() => {
    gateway.rate.before = undefined;
    gateway.tools.events.emit("release");
  });
  async function connected(): Promise<Socket> {
    const socket = connect({ port: opened.port, host: "127.0.0.1" }).on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  /** Resolves when the connection is closed. */
  async function leave(socket: Socket): Promise<void> {
    socket.destroy();
    await expect.poll(openSockets).toBe(0);
  }

  const whole = (path: string, message: object) => postText(path, authorization, message);
  const plain = () => whole("/v1/mcp/tools/call", { tool: "wait", params: {} });
  const mcp = () =>
    whole("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "wait", arguments: {} } });
  const connectCall = () => whole("/toolgate.v1.ToolService/CallTool", { tool: "wait", params: {} });

  it.each([
    ["of JSON", plain],
    ["to MCP", mcp],
    ["in Connect", connectCall],
  ])(
    "aborts the call when the client leaves during authentication, with a whole call %s sent",
    async (_, call) => {
      const blocked = Promise.withResolvers<void>();
      gateway.rate.before = blocked.promise;
      const { asked } = gateway.rate;
      const socket = await connected();
      socket.write(call());
      await expect.poll(() => gateway.rate.asked).toBe(asked + 1);
      await leave(socket);
      blocked.resolve();
      // Unwanted work would start in these turns of the event loop.
      for (let turns = 0; turns < 20; turns++) await turn();
      expect(signals.filter(({ aborted }) => !aborted)).toEqual([]);
      await gateway.pipeline.idle();
    },
  );

  it.each([
    ["of JSON", plain],
    ["in Connect", connectCall],
  ])("aborts all calls %s of a client that leaves, pipelined ones too", async (_, call) => {
    const socket = await connected();
    socket.write(call().repeat(3));
    await expect.poll(() => signals.length).toBe(3);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
    await leave(socket);
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
    await gateway.pipeline.idle();
  });

  it("keeps the process when a client leaves before its answer to a Connect GET", async () => {
    const failures: unknown[] = [];
    const keep = (error: unknown) => failures.push(error);
    process.setUncaughtExceptionCaptureCallback(keep);
    const socket = await connected();
    const path = "/toolgate.v1.HealthService/GetHealth?connect=v1&encoding=json&message=%7B%7D";
    socket.write(`${plain()}GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await expect.poll(() => signals.length).toBe(1);
    await leave(socket);
    for (let turns = 0; turns < 20; turns++) await turn();
    process.setUncaughtExceptionCaptureCallback(null);
    expect(failures).toEqual([]);
  });
});
