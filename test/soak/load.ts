import { setTimeout as sleep } from "node:timers/promises";
import { Latencies } from "../bench/latencies.ts";
import { ACTS, type Act } from "./acts.ts";
import type { Stage } from "./stage.ts";

/** Concurrent callers while measuring full load. */
const FULL = 64;
/** Maximum concurrent callers; others are refused and counted. */
const MOST = 512;
/** Interval of arrivals, ms. */
const TICK_MS = 10;

/** Responses since the last sample. */
export interface Answers {
  readonly count: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Callers refused because too many were active. */
  readonly turnedAway: number;
}

/** Callers that play {@link ACTS} by weight. */
export class SoakLoad {
  /** Count of each act, and unexpected results with their act. */
  readonly played = new Map<string, number>();
  readonly unexpected = new Map<string, string>();
  readonly #stage: Stage;
  readonly #latencies = new Latencies();
  readonly #active = new Set<Promise<void>>();
  /** Each act once first, so that short runs cover all. */
  readonly #first = [...ACTS];
  #answers = 0;
  #turnedAway = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /**
   * Runs as fast as possible.
   * @returns acts per second
   */
  async full(ms: number, signal: AbortSignal): Promise<number> {
    const began = performance.now();
    const before = this.#answers;
    const caller = async () => {
      while (performance.now() - began < ms && !signal.aborted) await this.#play(this.#next());
    };
    await Promise.all(Array.from({ length: FULL }, caller));
    return (this.#answers - before) / ((performance.now() - began) / 1_000);
  }

  /** A constant arrival rate, however long acts take. */
  async paced(perSecond: number, ms: number, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    let due = 0;
    for (let now = 0; now < ms && !signal.aborted; now = performance.now() - began) {
      for (const until = (now / 1_000) * perSecond; due < until; due++) this.#arrive();
      await sleep(TICK_MS);
    }
  }

  /** Waits for running acts. */
  async settled(): Promise<void> {
    await Promise.all(this.#active);
  }

  /** @returns what was seen since the last call */
  answered(): Answers {
    const [p50Ms, p99Ms] = [this.#latencies.percentile(0.5), this.#latencies.percentile(0.99)];
    const answers = { count: this.#answers, p50Ms, p99Ms, turnedAway: this.#turnedAway };
    this.#answers = 0;
    this.#turnedAway = 0;
    this.#latencies.clear();
    return answers;
  }

  #arrive(): void {
    if (this.#active.size >= MOST) {
      this.#turnedAway++;
      return;
    }
    const playing = this.#play(this.#next()).finally(() => this.#active.delete(playing));
    this.#active.add(playing);
  }

  async #play({ name, play }: Act): Promise<void> {
    const began = performance.now();
    const problem = await play(this.#stage).catch((error: unknown) => String(error));
    this.#answers++;
    this.#latencies.count(performance.now() - began);
    this.played.set(name, (this.played.get(name) ?? 0) + 1);
    if (problem !== undefined) this.unexpected.set(`${name} ${this.played.get(name)}`, problem);
  }

  #next(): Act {
    return this.#first.pop() ?? this.#stage.dice.draw(ACTS);
  }
}
