import { once } from "node:events";
import http, { type ServerResponse } from "node:http";
import http2 from "node:http2";
import { setInterval } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { Health } from "#gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { restartPort } from "../support/ports.ts";
import { json, modelServer } from "../inference/model-server.ts";
import { request } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";
import { callAt, openGround } from "./calls.ts";
import { type Instance } from "./process.ts";
import { HAPROXY, openPorts, type Ports, startProxy } from "./proxy.ts";

const WORDS = Array.from({ length: 20 }, (_, index) => `w${index} `);
const SERVING = 1;
const NOT_SERVING = 2;

const { ground, instances } = await openGround();
const agent = await ground.agent({ balance: 100_000_000n });

const get = (target: { baseUrl: string }, name: string) =>
  request(target, undefined, name, { method: "GET" });

it("reports liveness and readiness without a key; drains: serves calls, and ends each connection", async () => {
  const grpcPort = await restartPort();
  const instance = await instances.serve({
    ...ground.settings,
    GRPC_PORT: String(grpcPort),
    DRAIN_MS: "4000",
  });
  expect(await get(instance, "/livez")).toMatchObject({ status: 200, body: { status: "alive" } });
  expect(await get(instance, "/readyz")).toMatchObject({ status: 200, body: { status: "ready" } });
  expect((await get(instance, "/readyz?verbose")).body).toEqual({
    status: "ready",
    checks: {
      database: "ok",
      sandbox: "off",
      draining: false,
      clock: { ok: true, ahead_seconds: expect.any(Number) },
      config: { version: 0, newest: 0 },
    },
  });
  const grpc = grpcClient(`127.0.0.1:${grpcPort}`);
  const status = async () => (await callGrpc(grpc, Health.method.check, {})).message.status;
  const connections = new http.Agent({ keepAlive: true });
  try {
    expect(await status()).toBe(SERVING);
    expect(await headerOf(instance, connections)).toBe("keep-alive");
    instance.signal("SIGTERM");
    await expect.poll(() => instance.log(), { interval: 10 }).toContain("stopping");
    expect((await get(instance, "/readyz?verbose")).body.checks.draining).toBe(true);
    expect((await get(instance, "/readyz?exclude=database")).status).toBe(503);
    expect((await get(instance, "/readyz?exclude=database&exclude=draining")).status).toBe(200);
    expect((await get(instance, "/livez")).status).toBe(200);
    expect((await callAt(instance, agent)).status).toBe(200);
    expect(await headerOf(instance, connections)).toBe("close");
    expect(await status()).toBe(NOT_SERVING);
    expect(await instance.ended).toBe(0);
  } finally {
    connections.destroy();
    grpc.close();
  }
});

it("sends GOAWAY on gRPC connections, and cuts a stream that its client keeps open", async () => {
  const GRPC_PORT = String(await restartPort());
  const instance = await instances.serve({ ...ground.settings, GRPC_PORT, SHUTDOWN_GRACE_MS: "200" });
  const session = http2.connect(`http://127.0.0.1:${GRPC_PORT}`);
  session.on("error", () => {});
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": `/${ServerReflection.typeName}/ServerReflectionInfo`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => {});
    await once(session, "remoteSettings");
    // A reflection stream stays open until its client ends it. The ping shows that the server has it.
    await promisify((done: (error: Error | null) => void) => session.ping(done))();
    const goaway = once(session, "goaway").then(([code]) => Number(code));
    const closed = once(session, "close").then(() => "closed without GOAWAY");
    instance.signal("SIGTERM");
    expect(await Promise.race([goaway, closed])).toBe(http2.constants.NGHTTP2_NO_ERROR);
    let exitCode: number | null | undefined;
    void instance.ended.then((code) => (exitCode = code));
    await expect.poll(() => exitCode).toBe(0);
  } finally {
    session.destroy();
  }
});

async function headerOf({ baseUrl }: Instance, connections: http.Agent): Promise<string | undefined> {
  const sent = http.get(`${baseUrl}/livez`, { agent: connections });
  const [response] = (await once(sent, "response")) as [http.IncomingMessage];
  await text(response);
  return response.headers.connection;
}

/** One place behind the proxy; its processes follow each other on the same ports. */
interface Slot extends Ports {
  instance: Instance;
}

it("loses no request when every instance behind HAProxy restarts in turn", async ({ skip }) => {
  if (HAPROXY === undefined) return skip("HAProxy is not installed");
  await using model = await modelServer((...exchange) => void streamsWords(...exchange));
  const settings = { INFERENCE_BASE_URL: model.baseUrl, DRAIN_MS: "5000", TRUSTED_PROXY_HOPS: "1" };
  const slots = await Promise.all([openSlot(settings), openSlot(settings)]);
  const proxy = await startProxy(HAPROXY, slots);
  const grpc = grpcClient(proxy.grpcAddress);
  const metadata = { authorization: `Bearer ${agent.apiKey}` };
  const answers = new Map<string, number>();
  const count = (name: string) => answers.set(name, (answers.get(name) ?? 0) + 1);
  const loading = { stopped: false };
  const repeat = async (name: string, send: () => Promise<unknown>) => {
    for await (const _ of setInterval(50)) {
      if (loading.stopped) return;
      const outcome = await send().catch((error: unknown) => String(error));
      count(`${name} ${String(outcome)}`);
    }
  };
  try {
    await expect.poll(() => get(proxy, "/readyz").then(({ status }) => status)).toBe(200);
    const callers = [
      repeat("paid", async () => (await callAt(proxy, agent)).status),
      repeat("stream", async () => mcpStatus(proxy)),
      // Streams overlap, so that one runs whenever an instance stops.
      ...[1, 2, 3].map(() => repeat("chat", async () => chatWords(proxy))),
      repeat("grpc", async () => {
        await callGrpc(grpc, ToolService.method.callTool, { tool: "get_status", params: {} }, { metadata });
        return 200;
      }),
    ];
    for (const slot of slots) {
      slot.instance.signal("SIGTERM");
      expect(await slot.instance.ended).toBe(0);
      slot.instance = await instances.serve(settingsOf(slot, settings));
      await expect.poll(() => get(slot.instance, "/readyz").then(({ status }) => status)).toBe(200);
      for (const backend of ["http_gateways", "grpc_gateways"])
        await expect.poll(() => proxy.statuses(backend)).toEqual(["UP", "UP"]);
    }
    loading.stopped = true;
    await Promise.all(callers);
    const chat = `chat ${WORDS.join("")}`;
    expect([...answers.keys()].toSorted()).toEqual([chat, "grpc 200", "paid 200", "stream 200"]);
    // Streams ran while an instance stopped, or none could have been cut.
    expect(answers.get(chat)).toBeGreaterThan(10);
  } finally {
    loading.stopped = true;
    grpc.close();
    await proxy.stop();
  }
});

function settingsOf({ PORT, GRPC_PORT }: Ports, more: Record<string, string>): Record<string, string> {
  return { ...ground.settings, ...more, PORT, GRPC_PORT };
}

async function openSlot(more: Record<string, string>): Promise<Slot> {
  const ports = await openPorts();
  return { ...ports, instance: await instances.serve(settingsOf(ports, more)) };
}

/** Sends the words of a completion one after the other. */
async function streamsWords(
  response: ServerResponse,
  { url = "" }: { url?: string | undefined },
): Promise<void> {
  if (url.endsWith("/models"))
    return json(response, 200, { object: "list", data: [{ id: "slow", object: "model" }] });
  const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "slow" };
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const send = (more: object) => response.write(`data: ${JSON.stringify({ ...head, ...more })}\n\n`);
  const words = WORDS.values();
  for await (const _ of setInterval(100)) {
    const { value: content, done } = words.next();
    if (done) break;
    send({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  send({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  response.end("data: [DONE]\n\n");
}

/** The text of a streamed completion, which ends only with a cut or a finish. */
async function chatWords({ baseUrl }: { baseUrl: string }): Promise<string> {
  const client = new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: agent.apiKey, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Go" }];
  const stream = await client.chat.completions.create({
    model: "slow",
    messages,
    max_tokens: 20,
    stream: true,
  });
  let said = "";
  let finish: string | null = null;
  for await (const { choices } of stream) {
    said += choices[0]?.delta.content ?? "";
    finish = choices[0]?.finish_reason ?? finish;
  }
  return finish === "stop" ? said : `${said} was cut`;
}

/** A tool call over MCP whose response is an event stream. */
async function mcpStatus({ baseUrl }: { baseUrl: string }): Promise<number> {
  const response = await fetch(`${baseUrl}/mcp`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${agent.apiKey}`,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2025-11-25",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "get_status", arguments: {}, _meta: { progressToken: 1 } },
    }),
  });
  expect(await response.text()).toContain('"result"');
  return response.status;
}
