import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  Registry,
  type OpenMetricsContentType,
} from "prom-client";
import { METRICS, type MetricName, type Metrics } from "../app/operations/metrics.ts";
import type { RequestObserver } from "../app/operations/request-record.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { ToolLabels } from "./tool-labels.ts";

/** Text of the metrics and its media type. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

type Labels = Readonly<Record<string, string>>;

/** Prometheus metrics of this process: the catalogue and Node's own. */
export class PrometheusMetrics implements Metrics {
  /** Only OpenMetrics has exemplars, and prom-client's registry cannot change its format. */
  readonly #registry = new Registry<OpenMetricsContentType>();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #tools = new ToolLabels();
  readonly #reads: (() => unknown)[] = [];
  /** Counts the requests of every transport. */
  readonly requests: RequestObserver;

  constructor() {
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const registers = [this.#registry];
    this.requests = new RequestMetrics(this.#registry, this.#tools);
    for (const [name, metric] of Object.entries(METRICS)) {
      const { type, help, labels } = metric;
      const configuration = { name, help, labelNames: labels, registers };
      if (type === "counter") this.#counters.set(name, new Counter(configuration));
      else if (type === "gauge") this.#gauges.set(name, newGauge(configuration));
      else this.#histograms.set(name, new Histogram({ ...configuration, buckets: [...metric.buckets] }));
    }
    collectDefaultMetrics({ register: this.#registry });
  }

  /** @throws TypeError unless it is a counter */
  count(name: MetricName, by = 1, labels: Labels = {}): void {
    const counter = this.#counters.get(name);
    if (!counter) throw new TypeError(`${name} is not a counter`);
    counter.inc(this.#bounded(labels), by);
  }

  /** @throws TypeError unless it is a gauge */
  set(name: MetricName, value: number, labels: Labels = {}): void {
    const gauge = this.#gauges.get(name);
    if (!gauge) throw new TypeError(`${name} is not a gauge`);
    gauge.set(this.#bounded(labels), value);
  }

  /** @throws TypeError unless it is a histogram */
  observe(name: MetricName, value: number, labels: Labels = {}): void {
    const histogram = this.#histograms.get(name);
    if (!histogram) throw new TypeError(`${name} is not a histogram`);
    histogram.observe(this.#bounded(labels), value);
  }

  onScrape(read: () => unknown): void {
    this.#reads.push(read);
  }

  #bounded(labels: Labels): Record<string, string> {
    const { tool } = labels;
    return tool === undefined ? { ...labels } : { ...labels, tool: this.#tools.of(tool) };
  }

  /** Returns the values by metric, for {@link combined}. */
  async values(): Promise<readonly object[]> {
    await Promise.allSettled(this.#reads.map((read) => read()));
    return this.#registry.getMetricsAsJSON();
  }

  /** Returns the metrics and their type. @param accept OpenMetrics if it names it, else Prometheus text */
  async exposition(accept = ""): Promise<Exposition> {
    await Promise.all(this.#reads.map((read) => read()));
    const text = await this.#registry.metrics();
    if (accept.includes("application/openmetrics-text"))
      return { contentType: this.#registry.contentType, text };
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: plainText(text) };
  }
}

/** The values of several processes as one: sums, and of gauges what their names say below. */
export function combined(processes: readonly (readonly object[])[]): Registry {
  return AggregatorRegistry.aggregate([...processes]);
}

/** The text for Prometheus; prom-client combines values for no other format. */
export async function combinedText(processes: readonly (readonly object[])[]): Promise<Exposition> {
  return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: await combined(processes).metrics() };
}

/** Gauges whose values of several processes are added, and those whose least one counts; else the largest. */
const ADDED = /^toolgate_(?:sandbox_(?:running|waiting)|database_(?:connections|connections_limit|waiting))$/;
const LEAST = /^toolgate_(?:sandbox_)?ready$/;

/** A time that is not known yet is absent: 0 would be the year 1970. */
function newGauge(configuration: GaugeConfiguration<string>): Gauge {
  const { name } = configuration;
  const aggregator = ADDED.test(name) ? "sum" : LEAST.test(name) ? "min" : "max";
  const gauge = new Gauge({ ...configuration, aggregator });
  if (configuration.name.endsWith("_timestamp_seconds")) gauge.remove();
  return gauge;
}

const EXEMPLAR = / # \{.*$/;
const COUNTER = /^# TYPE (\S+) counter$/;

/** Turns OpenMetrics into the Prometheus text format: `_total` in comments, no exemplars, no end mark. */
function plainText(openMetrics: string): string {
  const lines = openMetrics.split("\n").filter((line) => line !== "# EOF");
  return lines.map((line, index) => plainLine(line, lines[index + 1])).join("\n");
}

function plainLine(line: string, next: string | undefined): string {
  if (!line.startsWith("#")) return line.includes(" # ") ? line.replace(EXEMPLAR, "") : line;
  if (COUNTER.test(line)) return line.replace(COUNTER, "# TYPE $1_total counter");
  const counted = next === undefined ? null : COUNTER.exec(next);
  const [, name] = counted ?? [];
  return name !== undefined && line.startsWith(`# HELP ${name} `)
    ? line.replace(name, `${name}_total`)
    : line;
}
