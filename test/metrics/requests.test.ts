import { beforeEach, describe, expect, it } from "vitest";
import { RequestRecord, type Transport } from "../../src/app/operations/request-record.ts";
import { PrometheusMetrics } from "../../src/metrics/index.ts";

const TRANSPORTS: Transport[] = ["http", "mcp", "grpc", "connect"];
const OPEN_METRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
let metrics: PrometheusMetrics;
beforeEach(() => {
  metrics = new PrometheusMetrics();
});

interface Ended {
  tool?: string;
  status?: number;
  ms?: number;
  toolMs?: number;
  paymentMs?: number;
  transport?: Transport;
  requestId?: string;
  runId?: string;
}

function ended({ transport = "http", requestId = "req_1", ms = 7, ...more }: Ended): void {
  const record = new RequestRecord(transport, requestId, 0);
  metrics.requests.ended(
    Object.assign(record, { method: "ToolService/CallTool", tool: "echo", status: 200, ms, ...more }),
  );
}

const linesOf = (text: string, name: string) =>
  text.split("\n").filter((line) => line.startsWith(`${name}{`));
const ECHO = 'transport="http",method="ToolService/CallTool",tool="echo"';

describe("requests", () => {
  it("are counted by status and timed in buckets", async () => {
    ended({ ms: 7 });
    ended({ ms: 45_000 });
    ended({ ms: 1, status: 402 });
    const { text } = await metrics.exposition();
    expect(linesOf(text, "toolgate_requests_total")).toEqual([
      `toolgate_requests_total{${ECHO},status="200"} 2`,
      `toolgate_requests_total{${ECHO},status="402"} 1`,
    ]);
    const buckets = linesOf(text, "toolgate_request_duration_seconds_bucket");
    expect(buckets).toContain(`toolgate_request_duration_seconds_bucket{${ECHO},le="0.001"} 1`);
    expect(buckets).toContain(`toolgate_request_duration_seconds_bucket{${ECHO},le="0.01"} 2`);
    expect(buckets).toContain(`toolgate_request_duration_seconds_bucket{${ECHO},le="30"} 2`);
    expect(buckets.at(-1)).toBe(`toolgate_request_duration_seconds_bucket{${ECHO},le="+Inf"} 3`);
    expect(text).toContain(`toolgate_request_duration_seconds_count{${ECHO}} 3\n`);
    expect(text).toMatch(/toolgate_request_duration_seconds_sum\{[^}]*\} 45\.00[78]/);
    expect(text).toContain("# TYPE toolgate_requests_total counter\n");
    expect(text).not.toMatch(/# EOF|request_id/);
  });

  it("with a run are timed without the tool and the payment", async () => {
    ended({ ms: 900, toolMs: 500, paymentMs: 398, runId: "run_1" });
    ended({ ms: 900 });
    ended({ ms: 900, status: 500, runId: "run_2" });
    const { text } = await metrics.exposition();
    const [first, second] = linesOf(text, "toolgate_request_overhead_seconds_bucket");
    expect(first).toBe('toolgate_request_overhead_seconds_bucket{transport="http",le="0.001"} 0');
    expect(second).toBe('toolgate_request_overhead_seconds_bucket{transport="http",le="0.0025"} 1');
    expect(text).toContain('toolgate_request_overhead_seconds_count{transport="http"} 1\n');
  });

  it("are exemplars of their buckets in OpenMetrics, again and again", async () => {
    ended({ ms: 7, requestId: "req_first" });
    ended({ ms: 8, requestId: "req_latest" });
    for (let scrape = 0; scrape < 2; scrape++) {
      await metrics.exposition();
      const { text, contentType } = await metrics.exposition(OPEN_METRICS);
      expect(contentType).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
      expect(text).toMatch(/le="0.01"\} 2 # \{request_id="req_latest"\} 0\.008 \d{10}/);
      expect(text).toContain("# TYPE toolgate_requests counter\n");
      expect(text.endsWith("\n# EOF\n")).toBe(true);
    }
  });

  it("of 10,000 accounts and 1,000 tools make a bounded number of series", async () => {
    for (let call = 0; call < 10_000; call++) {
      const transport = TRANSPORTS[call % 4] ?? "http";
      ended({
        transport,
        tool: `tool_${call % 1_000}`,
        requestId: `req_${call}`,
        status: call % 3 ? 200 : 402,
      });
      metrics.count("toolgate_unpaid_work_total", 1, { tool: `tool_${call % 1_000}` });
    }
    const { text } = await metrics.exposition();
    const tools = new Set(text.match(/tool="[^"]*"/g));
    expect(tools.size).toBe(101);
    expect(tools).toContain('tool="other"');
    const requests = linesOf(text, "toolgate_requests_total");
    expect(requests.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)).toBe(10_000);
    expect(text.split("\n").length).toBeLessThan(4_000);
  });
});
