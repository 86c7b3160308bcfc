import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Log } from "../../src/domain/core/log.ts";
import { json, modelServer, type ModelServer } from "../inference/model-server.ts";
import { memoOf, request, xPayment, type Agent } from "../support/world.ts";
import { figureOf } from "../crediting/fixture.ts";
import { CALL, EMBED, PAID_CALLS, startPaidWorld, type PaidWorld } from "./paid-calls.ts";
import { PARAMS, startTracedBackends, type TracedBackends } from "./traced-backends.ts";
import { spansIn, type ReceivedSpan } from "./received-spans.ts";

const PARENT = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };
const traceparent = `00-${PARENT.trace}-${PARENT.span}-01`;
const KEY = "planted-collector-key";

const lines: Record<string, unknown>[] = [];
const log: Log = { info: (line) => void lines.push({ ...line }), warn() {}, error() {} };
let collector: ModelServer;
let backends: TracedBackends;
let world: PaidWorld;
let agent: Agent;

beforeAll(async () => {
  collector = await modelServer((response) => json(response, 200, {}));
  backends = await startTracedBackends();
  world = await startPaidWorld(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.baseUrl.replace(/v1$/, ""),
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${KEY}`,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test%20lab",
      LOG_FREE_REQUESTS: "1",
      METRICS_PORT: "0",
      TRUSTED_PROXY_HOPS: "1",
    },
    log,
    backends.tools,
  );
  agent = await world.agent({ balance: 1_000_000n });
});
beforeEach(() => {
  lines.length = 0;
  world.model.received.length = 0;
  collector.received.length = 0;
});
afterAll(async () => {
  await world.close();
  await collector[Symbol.asyncDispose]();
  await backends.close();
});

/** The spans of a trace, once its request's span has arrived. */
async function traceOf(traceId: string): Promise<ReceivedSpan[]> {
  const found = () => spansIn(collector.received).filter((span) => span.traceId === traceId);
  await expect.poll(() => found().some(({ kind }) => kind === "server")).toBe(true);
  return found();
}

/** The names from the request's span down to this one. */
function pathTo(spans: readonly ReceivedSpan[], name: string): string[] {
  const span = spans.find((one) => one.name === name);
  if (!span) throw new Error(`${name} is not among ${spans.map((one) => one.name).join(", ")}`);
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent ? [...pathTo(spans, parent.name), name] : [name];
}

const REQUEST: Readonly<Record<string, string>> = {
  http: "POST /v1/mcp/tools/call",
  mcp: "tools/call vram_estimate",
  connect: "toolgate.v1.ToolService/CallTool",
  grpc: "toolgate.v1.ToolService/CallTool",
};

describe("the trace of a paid call", () => {
  it.each(Object.entries(PAID_CALLS))("is one, continues the caller's, over %s", async (transport, call) => {
    await call(world, agent, { traceparent });
    const spans = await traceOf(PARENT.trace);
    const [root] = spans.filter(({ parentSpanId }) => parentSpanId === PARENT.span);
    expect(root?.kind).toBe("server");
    const name = REQUEST[transport] ?? root?.name ?? "";
    const tool = transport === "openai" ? "inference_chat" : CALL.tool;
    expect(pathTo(spans, "ledger authorize")).toEqual([name, "authorize", "ledger authorize"]);
    expect(pathTo(spans, `execute_tool ${tool}`)).toEqual([name, `execute_tool ${tool}`]);
    expect(pathTo(spans, "ledger capture")).toEqual([name, "capture", "ledger capture"]);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const loose = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
    expect(loose).toEqual([root]);
    expect(lines).toContainEqual(
      expect.objectContaining({ trace_id: PARENT.trace, run_id: root?.attributes["toolgate.run_id"] }),
    );
    if (transport !== "openai") return;
    const chat = spans.find((span) => span.name === "chat m1");
    expect(pathTo(spans, "chat m1")).toEqual([name, `execute_tool ${tool}`, "chat m1"]);
    expect(chat?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 11 });
    expect(world.model.received.at(-1)?.headers["traceparent"]).toBe(`00-${PARENT.trace}-${chat?.spanId}-01`);
  });

  it("has the requests to Solana that verify its payment", async () => {
    const buyer = await world.agent();
    const { body } = await world.post(buyer, "/v1/mcp/tools/call", CALL);
    const tx = await world.pay(buyer, BigInt(body.quote.price_usdc_microusd), memoOf(body.quote));
    const trace = "1bf7651916cd43dd8448eb211c80319c";
    const headers = { ...xPayment(tx, body.quote.quote_id), traceparent: `00-${trace}-${PARENT.span}-01` };
    expect((await world.post(buyer, "/v1/mcp/tools/call", CALL, headers)).status).toBe(200);
    const spans = await traceOf(trace);
    const way = ["POST /v1/mcp/tools/call", "authorize"];
    expect(pathTo(spans, "ledger prior")).toEqual([...way, "ledger prior"]);
    expect(pathTo(spans, "getTransaction")).toEqual([...way, "getTransaction"]);
  });

  it("is linked with the calls that share a batch", async () => {
    const traces = Array.from({ length: 8 }, (_, call) => `${call}cf7651916cd43dd8448eb211c80319c`);
    await Promise.all(
      traces.map((trace) =>
        world.post(agent, "/v1/mcp/tools/call", CALL, { traceparent: `00-${trace}-${PARENT.span}-01` }),
      ),
    );
    const spans = (await Promise.all(traces.map(traceOf))).flat();
    const batches = spans.filter(({ name }) => name === "ledger authorize");
    const linked = batches.flatMap(({ links }) => links);
    expect(new Set(linked)).toEqual(
      new Set(spans.filter(({ name }) => name === "authorize").map(({ spanId }) => spanId)),
    );
    expect(batches.length).toBeLessThan(8);
  });

  it("has no parameters, results or keys, and its id is an exemplar", async () => {
    const params = { message: "planted-parameter" };
    await world.post(agent, "/v1/mcp/tools/call", { tool: "echo", params }, { traceparent });
    await world.post(agent, "/v1/mcp/tools/call", {
      tool: "none",
      params: {},
      idempotency_key: "planted-key",
    });
    await expect.poll(() => spansIn(collector.received).length).toBe(2);
    const sent = collector.received.map(({ body }) => body).join("");
    for (const secret of ["planted", agent.apiKey, agent.apiKey.slice(0, 16), KEY])
      expect(sent).not.toContain(secret);
    expect(collector.received[0]?.headers["x-key"]).toBe(KEY);
    expect(sent).toContain("test lab");
    const accept = "application/openmetrics-text;version=1.0.0";
    const metrics = await fetch(`http://${world.gateway.metricsAddress}/metrics`, { headers: { accept } });
    expect(await metrics.text()).toMatch(/# \{request_id="req_\w+",trace_id="0af76519/);
  });

  it("that the caller does not sample is passed on, and not exported", async () => {
    const trace = "2bf7651916cd43dd8448eb211c80319c";
    await PAID_CALLS["openai"]?.(world, agent, { traceparent: `00-${trace}-${PARENT.span}-00` });
    expect(world.model.received.at(-1)?.headers["traceparent"]).toMatch(
      new RegExp(`^00-${trace}-\\w{16}-00$`),
    );
    await PAID_CALLS["http"]?.(world, agent, { traceparent });
    await traceOf(PARENT.trace);
    expect(spansIn(collector.received).filter(({ traceId }) => traceId === trace)).toEqual([]);
  });
});

describe("the trace of a call", () => {
  const sent = (trace: string) => ({ headers: { traceparent: `00-${trace}-${PARENT.span}-01` } });

  it("continues at the model server of embeddings", async () => {
    const trace = "3bf7651916cd43dd8448eb211c80319c";
    const answer = await world.call(agent, EMBED.tool, EMBED.params, sent(trace));
    expect(answer.status).toBe(200);
    const spans = await traceOf(trace);
    const step = spans.find(({ name }) => name === "embeddings e1");
    expect(pathTo(spans, "embeddings e1").slice(1)).toEqual([
      "execute_tool inference_embed",
      "embeddings e1",
    ]);
    expect(step?.attributes).toMatchObject({
      "gen_ai.operation.name": "embeddings",
      "gen_ai.usage.input_tokens": 3,
    });
    expect(world.model.received.at(-1)?.headers["traceparent"]).toBe(`00-${trace}-${step?.spanId}-01`);
  });

  it.each([
    ["http", "GET"],
    ["grpc", "odd.v1.OddService/Perform"],
    ["mcp", "tools/call add"],
  ])("continues at the server of a custom tool, over %s", async (tool, name) => {
    const trace = `${"ghm".indexOf(tool[0] ?? "") + 4}df7651916cd43dd8448eb211c80319c`;
    const call = () => world.call(agent, tool, PARAMS[tool] ?? {}, sent(trace));
    // Until its server has described it, a tool is unavailable.
    await expect.poll(async () => (await call()).status).toBe(200);
    const received = String(backends.received[tool]?.());
    await expect.poll(() => spansIn(collector.received).map(({ name: one }) => one)).toContain(name);
    const spans = spansIn(collector.received).filter(({ traceId }) => traceId === trace);
    const step = spans.find((span) => span.name === name);
    expect(step?.kind).toBe("client");
    expect(spans.find(({ spanId }) => spanId === step?.parentSpanId)?.name).toBe(`execute_tool ${tool}`);
    expect(received).toBe(`00-${trace}-${step?.spanId}-01`);
  });
});

describe("a collector", () => {
  it.concurrent.for<[string, (response: ServerResponse) => unknown]>([
    ["that refuses connections", () => {}],
    ["that answers 503", (response) => json(response, 503, {})],
    ["that never answers", () => {}],
  ])("%s delays no call, and its lost spans are counted", async ([kind, answer], { expect }) => {
    const down = await modelServer(answer);
    if (kind.includes("refuses")) await down[Symbol.asyncDispose]();
    const gateway = await world.startAnother({
      TRUSTED_PROXY_HOPS: "0",
      OTEL_EXPORTER_OTLP_ENDPOINT: down.baseUrl.replace(/v1$/, ""),
      OTEL_EXPORTER_OTLP_TIMEOUT: "1500",
      METRICS_PORT: "0",
    });
    const lost = () => figureOf(gateway.metricsAddress, "toolgate_spans_lost_total", '{reason="export"}');
    const init = { method: "POST", body: JSON.stringify(CALL) };
    for (let call = 0; call < 3; call++)
      expect((await request(gateway, agent, "/v1/mcp/tools/call", init, { traceparent })).status).toBe(200);
    // Without a proxy to trust, no caller names a trace.
    const traces = lines.flatMap((line) => line["trace_id"] ?? []);
    expect(traces).not.toEqual([]);
    expect(traces).not.toContain(PARENT.trace);
    await expect.poll(lost).toBeGreaterThanOrEqual(3);
    expect(await figureOf(gateway.metricsAddress, "toolgate_spans_exported_total")).toBe(0);
    if (!kind.includes("refuses")) await down[Symbol.asyncDispose]();
  });
});
