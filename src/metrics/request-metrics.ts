import { Counter, type OpenMetricsContentType, type Registry } from "prom-client";
import { REQUEST_METRICS } from "../app/operations/call-metrics.ts";
import type { RequestObserver, RequestRecord } from "../app/operations/request-record.ts";
import { SeriesHistogram, type HistogramSeries } from "./series-histogram.ts";
import type { ToolLabels } from "./tool-labels.ts";

const { toolgate_requests_total: REQUESTS } = REQUEST_METRICS;
const { toolgate_request_duration_seconds: DURATION, toolgate_request_overhead_seconds: OVERHEAD } =
  REQUEST_METRICS;

interface Series {
  readonly labels: { readonly transport: string; readonly method: string; readonly tool: string };
  readonly duration: HistogramSeries;
  readonly byStatus: Map<number, number>;
}

type ByTool = Map<string | undefined, Series>;

/** Counts and times requests. It runs for every request: known series are found without building strings. */
export class RequestMetrics implements RequestObserver {
  readonly #tools: ToolLabels;
  readonly #durations: SeriesHistogram;
  readonly #overheads: SeriesHistogram;
  readonly #overhead = new Map<string, HistogramSeries>();
  /** By transport and method; tools as called, several of which may share a series. */
  readonly #byTransport = new Map<string, Map<string, ByTool>>();
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry<OpenMetricsContentType>, tools: ToolLabels) {
    this.#tools = tools;
    this.#durations = new SeriesHistogram({
      name: "toolgate_request_duration_seconds",
      ...DURATION,
    });
    this.#overheads = new SeriesHistogram({
      name: "toolgate_request_overhead_seconds",
      ...OVERHEAD,
    });
    const all = this.#series;
    const counter = new Counter({
      name: "toolgate_requests_total",
      help: REQUESTS.help,
      labelNames: [...REQUESTS.labels],
      registers: [],
      collect() {
        this.reset();
        for (const { labels, byStatus } of all.values())
          for (const [status, requests] of byStatus)
            this.inc({ ...labels, status: String(status) }, requests);
      },
    });
    for (const metric of [counter, this.#durations, this.#overheads]) registry.registerMetric(metric);
  }

  ended(record: RequestRecord): void {
    const { status, ms, requestId, transport, span } = record;
    const { byStatus, duration } = this.#seriesOf(record);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    const traceId = span?.sampled ? span.traceId : undefined;
    duration.observe(ms / 1_000, requestId, traceId);
    if (record.runId === undefined || status !== 200) return;
    let overhead = this.#overhead.get(transport);
    if (!overhead) this.#overhead.set(transport, (overhead = this.#overheads.series({ transport })));
    overhead.observe(Math.max(0, ms - record.toolMs - record.paymentMs) / 1_000, requestId, traceId);
  }

  #seriesOf({ transport, method, tool }: RequestRecord): Series {
    const series = this.#byTransport.get(transport)?.get(method)?.get(tool);
    return series ?? this.#added(transport, method, tool);
  }

  #added(transport: string, method: string, tool: string | undefined): Series {
    const labels = { transport, method, tool: this.#tools.of(tool) };
    const key = JSON.stringify(labels);
    const series = this.#series.get(key) ?? {
      labels,
      duration: this.#durations.series(labels),
      byStatus: new Map(),
    };
    this.#series.set(key, series);
    const byMethod = this.#byTransport.get(transport) ?? new Map<string, ByTool>();
    const byTool: ByTool = byMethod.get(method) ?? new Map();
    this.#byTransport.set(transport, byMethod.set(method, byTool.set(tool, series)));
    return series;
  }
}
