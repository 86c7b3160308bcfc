import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { METRICS, type MetricName, type Metrics } from "../app/operations/metrics.ts";

/** Prometheus metrics of this process: the catalogue and Node's own. */
export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();

  constructor() {
    const registers = [this.#registry];
    for (const [name, { type, help, labels }] of Object.entries(METRICS)) {
      const configuration = { name, help, labelNames: labels, registers };
      if (type === "counter") this.#counters.set(name, new Counter(configuration));
      else this.#gauges.set(name, new Gauge(configuration));
    }
    collectDefaultMetrics({ register: this.#registry });
  }

  /** @throws TypeError for a gauge */
  count(name: MetricName, by = 1, labels: Readonly<Record<string, string>> = {}): void {
    const counter = this.#counters.get(name);
    if (!counter) throw new TypeError(`${name} is not a counter`);
    counter.inc({ ...labels }, by);
  }

  /** @throws TypeError for a counter */
  set(name: MetricName, value: number, labels: Readonly<Record<string, string>> = {}): void {
    const gauge = this.#gauges.get(name);
    if (!gauge) throw new TypeError(`${name} is not a gauge`);
    gauge.set({ ...labels }, value);
  }

  /**
   * Returns the Prometheus text format and its media type
   * (https://prometheus.io/docs/instrumenting/exposition_formats/).
   */
  async exposition(): Promise<{ contentType: string; text: string }> {
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}
