import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { METRICS } from "../../src/app/operations/metrics.ts";
import { MetricsServer, PrometheusMetrics } from "../../src/metrics/index.ts";

let metrics: PrometheusMetrics;
let server: MetricsServer;
let url: string;
beforeEach(async () => {
  metrics = new PrometheusMetrics();
  server = new MetricsServer((accept) => metrics.exposition(accept));
  url = `http://127.0.0.1:${await server.listen("127.0.0.1", 0)}`;
});
afterEach(() => server.close());

const scrape = async () => (await fetch(`${url}/metrics`)).text();

describe("GET /metrics", () => {
  it("starts counters and gauges without labels at 0", async () => {
    const text = await scrape();
    expect(text).toContain("\ntoolgate_payments_reversed_total 0\n");
    expect(text).toContain("\ntoolgate_treasury_difference_microusd 0\n");
  });

  it("exposes counted and set values by label", async () => {
    metrics.count("toolgate_payments_reversed_total");
    metrics.count("toolgate_payments_reversed_total", 2);
    metrics.count("toolgate_keeper_failures_total", 1, { work: "watch" });
    metrics.set("toolgate_treasury_difference_microusd", -70);
    metrics.set("toolgate_audit_violations", 3, { invariant: "one_receipt" });
    const text = await scrape();
    expect(text).toContain("\ntoolgate_payments_reversed_total 3\n");
    expect(text).toContain('\ntoolgate_keeper_failures_total{work="watch"} 1\n');
    expect(text).toContain("\ntoolgate_treasury_difference_microusd -70\n");
    expect(text).toContain('\ntoolgate_audit_violations{invariant="one_receipt"} 3\n');
  });

  it("serves GET and HEAD only", async () => {
    const statuses = await Promise.all([
      fetch(`${url}/metrics`, { method: "HEAD" }),
      fetch(`${url}/metrics`, { method: "POST", body: "{}" }),
      fetch(`${url}/`),
      fetch(`${url}/metrics/more`),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([200, 405, 404, 404]);
  });
});

describe("the server", () => {
  it("reports when the metrics port is taken", async () => {
    const other = new MetricsServer((accept) => metrics.exposition(accept));
    await expect(other.listen("127.0.0.1", Number(new URL(url).port))).rejects.toThrow("EADDRINUSE");
    await other.close();
  });

  it("closes at once in spite of open connections", async () => {
    const { port } = new URL(url);
    const kept = await fetch(url, { keepalive: true });
    expect(kept.status).toBe(404);
    await server.close();
    await expect(fetch(`http://127.0.0.1:${port}/metrics`)).rejects.toThrow("fetch failed");
  });
});

it("rejects counting gauges and setting counters", () => {
  expect(() => metrics.count("toolgate_watch_age_seconds")).toThrow(
    "toolgate_watch_age_seconds is not a counter",
  );
  expect(() => metrics.set("toolgate_runs_released_total", 1)).toThrow(
    "toolgate_runs_released_total is not a gauge",
  );
});

describe("the catalogue", () => {
  it("follows the Prometheus naming rules", () => {
    for (const [name, { type }] of Object.entries(METRICS)) {
      expect(name).toMatch(/^toolgate_[a-z_]+$/);
      expect(name.endsWith("_total"), name).toBe(type === "counter");
    }
  });
});
