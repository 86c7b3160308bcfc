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
  readonly answers: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  /** Callers refused because too many were active. */
  readonly turnedAway: number;
}

/** Callers that play {@link ACTS} by weight. */
export class SoakLoad {
  /** Count of each act, and unexpected results with their count and first example. */
  readonly played = new Map<string, number>();
  readonly unexpected = new Map<string, { count: number; first: string }>();
  readonly #stage: Stage;
  readonly #latencies = new Latencies();
  readonly #weight = ACTS.reduce((sum, { weight }) => sum + weight, 0);
  readonly #underWay = new Set<Promise<void>>();
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
    const ends = performance.now() + ms;
    const goesOn = () => performance.now() < ends && !signal.aborted;
    const before = this.#answers;
    const began = performance.now();
    await Promise.all(
      Array.from({ length: FULL }, async () => {
        while (goesOn()) await this.#play(this.#next());
      }),
    );
    return (this.#answers - before) / ((performance.now() - began) / 1_000);
  }

  /** A constant arrival rate, however long acts take. */
  async paced(perSecond: number, ms: number, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    let due = 0;
    for (let now = 0; now < ms && !signal.aborted; now = performance.now() - began) {
      for (const until = (now / 1_000) * perSecond; due < until; due++) this.#come();
      await sleep(TICK_MS);
    }
  }

  /** Waits for running acts. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** @returns what was seen since the last call */
  answered(): Answers {
    const answers = {
      answers: this.#answers,
      p50Ms: this.#latencies.percentile(0.5),
      p99Ms: this.#latencies.percentile(0.99),
      turnedAway: this.#turnedAway,
    };
    this.#answers = 0;
    this.#turnedAway = 0;
    this.#latencies.clear();
    return answers;
  }

  #come(): void {
    if (this.#underWay.size >= MOST) {
      this.#turnedAway++;
      return;
    }
    const playing = this.#play(this.#next()).finally(() => this.#underWay.delete(playing));
    this.#underWay.add(playing);
  }

  async #play({ name, play }: Act): Promise<void> {
    const began = performance.now();
    const problem = await play(this.#stage).catch((error: unknown) => String(error));
    this.#answers++;
    this.#latencies.count(performance.now() - began);
    this.played.set(name, (this.played.get(name) ?? 0) + 1);
    if (problem === undefined) return;
    const known = this.unexpected.get(name);
    this.unexpected.set(name, { count: (known?.count ?? 0) + 1, first: known?.first ?? problem });
  }

  #next(): Act {
    const first = this.#first.pop();
    if (first) return first;
    let at = Math.random() * this.#weight;
    for (const act of ACTS) {
      at -= act.weight;
      if (at < 0) return act;
    }
    throw new Error("there is nothing to do");
  }
}
