import { Histogram, type MetricObjectWithValues, type MetricValueWithName } from "prom-client";

/** One series: counts by bucket, the last one for values above all bounds. */
export class HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Float64Array;
  sum = 0;
  /** The latest request of each bucket, for exemplars. */
  readonly #latest: (Exemplar | undefined)[];
  readonly #bounds: readonly number[];

  constructor(labels: Readonly<Record<string, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
    this.#latest = Array.from({ length: bounds.length + 1 });
  }

  /** @param exemplar identifier of the request; empty for none. @param traceId its trace, if recorded */
  observe(value: number, exemplar: string, traceId: string | undefined): void {
    let bucket = 0;
    for (const bound of this.#bounds) {
      if (value <= bound) break;
      bucket++;
    }
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
    if (exemplar === "") return;
    const kept = this.#latest[bucket];
    if (kept) kept.set(value, exemplar, traceId);
    else this.#latest[bucket] = new Exemplar(value, exemplar, traceId);
  }

  exemplar(bucket: number): Exemplar | undefined {
    return this.#latest[bucket];
  }
}

/** The request that an exemplar names (OpenMetrics, Exemplars). */
class Exemplar {
  value: number;
  #requestId: string;
  #traceId: string | undefined;
  #at = performance.now();

  constructor(value: number, requestId: string, traceId: string | undefined) {
    this.value = value;
    this.#requestId = requestId;
    this.#traceId = traceId;
  }

  set(value: number, requestId: string, traceId: string | undefined): void {
    this.value = value;
    this.#requestId = requestId;
    this.#traceId = traceId;
    this.#at = performance.now();
  }

  get labelSet(): Record<string, string> {
    const traceId = this.#traceId;
    return { request_id: this.#requestId, ...(traceId !== undefined && { trace_id: traceId }) };
  }

  /** Unix seconds. */
  get timestamp(): number {
    return (performance.timeOrigin + this.#at) / 1_000;
  }
}

interface SeriesOptions {
  readonly name: string;
  readonly help: string;
  readonly buckets: readonly number[];
}

/** A histogram whose series are looked up once: prom-client's hash of the labels costs a microsecond. */
export class SeriesHistogram extends Histogram {
  readonly #options: SeriesOptions;
  /** Name, help and type: `get` of the base class calls `getForPromString` of this one. */
  readonly #described: Histogram;
  readonly #series: HistogramSeries[] = [];

  constructor(options: SeriesOptions) {
    const { name, help } = options;
    super({ name, help, registers: [] });
    this.#described = new Histogram({ name, help, registers: [] });
    this.#options = options;
  }

  series(labels: Readonly<Record<string, string>>): HistogramSeries {
    const added = new HistogramSeries(labels, this.#options.buckets);
    this.#series.push(added);
    return added;
  }

  /** The registry prefers this to `get`. */
  getForPromString(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    return this.get();
  }

  override async get(): Promise<MetricObjectWithValues<MetricValueWithName<string>>> {
    return { ...(await this.#described.get()), values: this.#series.flatMap((one) => this.#valuesOf(one)) };
  }

  #valuesOf(series: HistogramSeries): MetricValueWithName<string>[] {
    const { name, buckets } = this.#options;
    const { labels, sum } = series;
    let count = 0;
    const values: MetricValueWithName<string>[] = [...buckets, "+Inf"].map((le, index) => {
      count += series.counts[index] ?? 0;
      const exemplar = series.exemplar(index);
      return {
        metricName: `${name}_bucket`,
        labels: { ...labels, le },
        value: count,
        ...(exemplar && { exemplar }),
      };
    });
    return [
      ...values,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}
