import { setTimeout as sleep } from "node:timers/promises";
import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import type { ServerProcess } from "./server-process.ts";

/** How long and how often is measured. */
export interface Plan {
  readonly rounds: number;
  /** Measured time of a round, ms. */
  readonly windowMs: number;
  /** Load before that, ms. */
  readonly warmUpMs: number;
}

/** Whether rounds are too short for programs that accept whole seconds only. */
export function isShort({ windowMs }: Plan): boolean {
  return windowMs < 1_000;
}

/** How long a round waits for its first answer, and the first tick, beyond its own time, ms. */
const PATIENCE_MS = 20_000;

/** Result of one side in one round. */
export interface Rate {
  readonly perSecond: number;
  /** Server CPU time per call, microseconds; undefined where it is not measured. */
  readonly cpuMicros?: number | undefined;
  /** Median and 99th percentile latency, ms; undefined if not measured. */
  readonly p50Ms?: number | undefined;
  readonly p99Ms?: number | undefined;
}

/** Both sides over all rounds. */
export interface Comparison {
  /** Medians of the rounds. */
  readonly gateway: Rate;
  readonly peer: Rate;
  /** Of gateway / peer in each round, each from the same few seconds. */
  readonly throughputRatio: Ratio;
  readonly cpuRatio: Ratio | undefined;
  /** Of the gateway alone, microseconds. */
  readonly gatewayCpu: Ratio | undefined;
  readonly p99Ratio: Ratio | undefined;
}

/** A ratio or a figure over the rounds. */
export interface Ratio {
  readonly median: number;
  readonly range: Range;
}

/** The least and the greatest of the rounds. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

/** One side of a comparison: measures itself once. */
export type Side = () => Promise<Rate>;

/** A side under load: throughput counted by the generator, CPU by the server process. */
export function loaded(
  load: LoadProcess,
  server: ServerProcess,
  job: LoadJob,
  plan: Plan,
  signal: AbortSignal,
): Side {
  return async () => {
    await load.start(job);
    await sleep(plan.warmUpMs, undefined, { signal });
    const [before, cpuBefore] = await Promise.all([load.sample(), server.cpuSeconds()]);
    let [after, cpuAfter] = [before, cpuBefore];
    const patience = performance.now() + plan.windowMs + PATIENCE_MS;
    // Extends a round until it has an answer and a CPU clock tick.
    while (after.answers === before.answers || cpuAfter === cpuBefore) {
      if (performance.now() > patience) throw new Error("nothing was answered in a whole round");
      await sleep(plan.windowMs, undefined, { signal });
      [after, cpuAfter] = await Promise.all([load.sample(), server.cpuSeconds()]);
    }
    await load.pause();
    const answers = after.answers - before.answers;
    return {
      perSecond: answers / ((after.atMs - before.atMs) / 1000),
      cpuMicros: ((cpuAfter - cpuBefore) * 1_000_000) / answers,
      p50Ms: after.p50Ms,
      p99Ms: after.p99Ms,
    };
  };
}

/** Measures both sides in turn and alternates the order, so that other load affects both equally. */
export async function compare(gateway: Side, peer: Side, { rounds }: Plan): Promise<Comparison> {
  const pairs: { gateway: Rate; peer: Rate }[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await gateway();
      pairs.push({ gateway: first, peer: await peer() });
    } else {
      const first = await peer();
      pairs.push({ gateway: await gateway(), peer: first });
    }
  }
  return {
    gateway: medianRate(pairs.map((pair) => pair.gateway)),
    peer: medianRate(pairs.map((pair) => pair.peer)),
    throughputRatio: overRounds(pairs.map((pair) => pair.gateway.perSecond / pair.peer.perSecond)),
    cpuRatio: ifAny(pairs.flatMap((pair) => ratioOf(pair.gateway.cpuMicros, pair.peer.cpuMicros))),
    gatewayCpu: ifAny(pairs.flatMap((pair) => pair.gateway.cpuMicros ?? [])),
    p99Ratio: ifAny(pairs.flatMap((pair) => ratioOf(pair.gateway.p99Ms, pair.peer.p99Ms))),
  };
}

/** Figures of at least one round. */
export function overRounds(figures: readonly number[]): Ratio {
  const range = { least: Math.min(...figures), most: Math.max(...figures) };
  return { median: median(figures) ?? Number.NaN, range };
}

function ifAny(figures: readonly number[]): Ratio | undefined {
  return figures.length === 0 ? undefined : overRounds(figures);
}

/** The middle value, or the mean of the middle two; undefined of nothing. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.ceil(sorted.length / 2) - 1];
  return high === undefined || low === undefined ? undefined : (low + high) / 2;
}

function medianRate(rates: readonly Rate[]): Rate {
  return {
    perSecond: median(rates.map((rate) => rate.perSecond)) ?? Number.NaN,
    cpuMicros: median(rates.flatMap((rate) => rate.cpuMicros ?? [])),
    p50Ms: median(rates.flatMap((rate) => rate.p50Ms ?? [])),
    p99Ms: median(rates.flatMap((rate) => rate.p99Ms ?? [])),
  };
}

function ratioOf(one: number | undefined, other: number | undefined): number[] {
  return one === undefined || other === undefined || other === 0 ? [] : [one / other];
}
