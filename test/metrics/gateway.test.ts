import { expect, it } from "vitest";
import { z } from "zod";
import { ConfigError } from "../../src/config/config.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, request, xPayment, type Agent } from "../support/world.ts";
import { ALL_METRICS } from "../reference/metrics.ts";
import { hasPrometheus, startPrometheus } from "./prometheus.ts";
import { expressions, labelsOf, queries, type Query } from "./queries.ts";
import { figureOf } from "../crediting/fixture.ts";

const world = useWorld({ METRICS_PORT: "0", AUDIT_INTERVAL_SECONDS: "1" });
const figure = (name: string, labels?: string) => figureOf(world.gateway.metricsAddress, name, labels);

it("serves metrics on their own port only", async () => {
  expect(world.gateway.metricsAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(await figure("toolgate_suspense_transfers")).toBe(0);
  const { status, body } = await world.get(undefined, "/metrics");
  expect({ status, code: body.code }).toEqual({ status: 404, code: "NOT_FOUND" });
});

it("counts refused API keys", async () => {
  const before = (await figure("toolgate_keys_refused_total")) ?? 0;
  const headers = { Authorization: `Bearer sk-agent-${"a".repeat(43)}` };
  expect((await world.get(undefined, "/receipts", headers)).status).toBe(401);
  expect(await figure("toolgate_keys_refused_total")).toBe(before + 1);
});

it("repeats the ledger audit and exposes its result", async () => {
  const audited = () => figure("toolgate_audit_timestamp_seconds");
  await expect.poll(audited).toBeGreaterThan(1_700_000_000);
  const first = (await audited()) ?? 0;
  await expect.poll(audited).toBeGreaterThan(first);
  for (const { name } of await world.postgres.audit()) {
    expect(await figure("toolgate_audit_violations", `{invariant="${name}"}`), name).toBe(0);
  }
});

it("names METRICS_PORT when the port is taken, and serves no metrics without it", async () => {
  const taken = String(world.gateway.metricsAddress?.split(":")[1]);
  const refused = world.startAnother({ METRICS_PORT: taken });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(`METRICS_PORT: cannot listen on port ${taken}`);
  expect((await world.startAnother({ METRICS_PORT: "" })).metricsAddress).toBeUndefined();
});

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };

async function buy(agent: Agent, headers: Record<string, string> = {}) {
  const init = { method: "POST", body: JSON.stringify(PAID) };
  return request(world.gateway, agent, "/v1/mcp/tools/call", init, headers);
}

it("counts a purchase from its quote to its capture, and its replay", async () => {
  const agent = await world.agent();
  const { body } = await buy(agent);
  const tx = await world.pay(agent, BigInt(body.quote.price_usdc_microusd), memoOf(body.quote));
  const proof = xPayment(tx, body.quote.quote_id);
  expect((await buy(agent, proof)).status).toBe(200);
  expect((await buy(agent, proof)).status).toBe(200);
  for (const step of ["quoted", "paid", "captured"])
    expect(await figure("toolgate_funnel_total", `{step="${step}"}`), step).toBe(1);
  expect(await figure("toolgate_funnel_total", '{step="proved"}')).toBe(2);
  expect(await figure("toolgate_replays_total")).toBe(1);
  const price = body.quote.price_usdc_microusd;
  expect(await figure("toolgate_credited_microusd_total", '{method="transfer"}')).toBe(price);
  expect(await figure("toolgate_charged_microusd_total", '{method="transfer"}')).toBe(price);
  expect(await figure("toolgate_batch_items_count", '{batch="authorize"}')).toBeGreaterThan(0);
  expect(await figure("toolgate_ready", '{check="database"}')).toBe(1);
  const call = 'transport="http",method="ToolService/CallTool",tool="vram_estimate"';
  expect(await figure("toolgate_requests_total", `{${call},status="402"}`)).toBe(1);
  await expect.poll(() => figure("toolgate_requests_total", `{${call},status="200"}`)).toBe(2);
});

it("has every metric and label that the dashboards and alerts ask for", async () => {
  const text = await (await fetch(`http://${world.gateway.metricsAddress}/metrics`)).text();
  const known = new Set(text.match(/(?<=^# TYPE )\S+/gm));
  const declared = new Map<string, readonly string[]>(
    Object.entries(ALL_METRICS).map(([name, { labels }]) => [name, labels]),
  );
  const problem = ({ from, metric, labels }: Query) => {
    const name = known.has(metric) ? metric : metric.replace(/_(?:bucket|sum|count)$/, "");
    if (!known.has(name)) return `${from}: there is no ${metric}`;
    const allowed = new Set([...(declared.get(name) ?? []), "le", "job", "instance"]);
    const wrong = labels.filter((label) => !allowed.has(label));
    return wrong.length > 0 ? `${from}: ${metric} has no ${wrong.join(", ")}` : [];
  };
  const asked = queries();
  expect(asked.length).toBeGreaterThan(80);
  expect(asked.flatMap(problem)).toEqual([]);
  // What the catalogue declares is what a gateway exposes.
  for (const [, name = "", labels = ""] of text.matchAll(/^(toolgate_\w+)\{(.*)\} /gm)) {
    const base = declared.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "");
    const own = labelsOf(labels).filter((label) => label !== "le");
    expect(own.toSorted(), name).toEqual(declared.get(base)?.toSorted());
  }
});

it("serves every declared metric with its type and help, and no others", async () => {
  const text = await (await fetch(`http://${world.gateway.metricsAddress}/metrics`)).text();
  const served = (kind: string) =>
    Object.fromEntries(
      [...text.matchAll(new RegExp(`^# ${kind} (toolgate_\\w+) (.*)$`, "gm"))].map(([, name, value]) => [
        name,
        value,
      ]),
    );
  const declared = (member: "type" | "help") =>
    Object.fromEntries(Object.entries(ALL_METRICS).map(([name, metric]) => [name, metric[member]]));
  expect(served("TYPE")).toEqual(declared("type"));
  expect(served("HELP")).toEqual(declared("help"));
  const others = [...text.matchAll(/^# TYPE (?!toolgate_)(\w+)/gm)].map(([, name]) => name);
  expect(others.filter((name) => !/^(?:nodejs|process)_/.test(name ?? ""))).toEqual([]);
});

const targets = z.object({ activeTargets: z.array(z.object({ health: z.string(), lastError: z.string() })) });
const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ name: z.string(), health: z.string() })) })),
});

it.skipIf(!hasPrometheus)(
  "answers deploy/prometheus/start.sh, its alerts and every dashboard (apt-get install prometheus)",
  async () => {
    await using prometheus = await startPrometheus(world.gateway.metricsAddress ?? "");
    const waiting = { interval: 200 };
    await expect
      .poll(() => prometheus.ask("targets", targets), waiting)
      .toEqual({ activeTargets: [{ health: "up", lastError: "" }] });
    const asked = expressions();
    const alerts = asked.filter(({ from }) => from.includes("rules.yml"));
    const health = async () => {
      const loaded = await prometheus.ask("rules", rules);
      if (typeof loaded === "string") return loaded;
      const all = loaded.groups.flatMap(({ rules: some }) => some);
      return all.map(({ name, health: one }) => `${name} ${one}`).toSorted();
    };
    const names = alerts.map(({ from }) => from.replace(/.*, /, ""));
    await expect.poll(health, waiting).toEqual(names.map((name) => `${name} ok`).toSorted());
    const failed: string[] = [];
    for (const { from, expr } of asked) {
      // Grafana's own variable.
      const query = new URLSearchParams({ query: expr.replaceAll("$__rate_interval", "1m") });
      const answer = await prometheus.ask(`query?${query.toString()}`, z.object({ resultType: z.string() }));
      if (typeof answer === "string") failed.push(`${from}: ${answer}`);
    }
    expect(failed).toEqual([]);
  },
);
