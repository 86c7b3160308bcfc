import { z } from "zod";
import { combined, combinedText, MetricsServer, PrometheusMetrics } from "../metrics/index.ts";
import type { Channel } from "./channel.ts";
import type { Workers } from "./workers.ts";

/** How long a worker may take to answer, ms. */
const ANSWER_MS = 2_000;

const valuesSchema = z.array(
  z.looseObject({
    name: z.string(),
    help: z.string(),
    type: z.enum(["counter", "gauge", "histogram", "summary"]),
    aggregator: z.enum(["omit", "sum", "first", "min", "max", "average"]),
    values: z.array(
      z.looseObject({ value: z.number(), labels: z.record(z.string(), z.union([z.string(), z.number()])) }),
    ),
  }),
);

/** What the primary has besides those of the workers. */
const OWN = /^(?:process|nodejs|toolgate_workers)_?/;

type MetricValues = z.output<typeof valuesSchema>;

/** The metrics of all workers and of the primary as those of one instance. */
export class WorkersMetrics {
  /** Of the primary: its process and its workers. */
  readonly #own = new PrometheusMetrics();
  readonly #workers: () => Workers;
  /** The last answer of each worker. */
  readonly #last = new Map<Channel, MetricValues>();
  /** Counts of workers that have ended: a counter never falls. */
  #ended: MetricValues = [];
  readonly server = new MetricsServer(() => this.#expose());

  constructor(workers: () => Workers) {
    this.#workers = workers;
  }

  countRestart(): void {
    this.#own.count("toolgate_workers_restarted_total");
  }

  /** Takes what a worker reports before it ends. */
  serve(channel: Channel): void {
    channel.handle("metrics", async (values) => void this.#last.set(channel, valuesSchema.parse(values)));
  }

  async leave(channel: Channel): Promise<void> {
    const counts = this.#last.get(channel)?.filter(({ type }) => type !== "gauge");
    this.#last.delete(channel);
    if (counts) this.#ended = valuesSchema.parse(await combined([this.#ended, counts]).getMetricsAsJSON());
  }

  async #expose() {
    const { all } = this.#workers();
    const read = async ({ channel }: { readonly channel: Channel }) => {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const values = await channel.request("metrics", null, signal).catch(() => undefined);
      if (values !== undefined) this.#last.set(channel, valuesSchema.parse(values));
    };
    this.#own.set("toolgate_workers", all.length);
    await Promise.all(all.map(read));
    const own = valuesSchema.parse(await this.#own.values()).filter(({ name }) => OWN.test(name));
    return await combinedText([...this.#last.values(), this.#ended, own]);
  }
}
