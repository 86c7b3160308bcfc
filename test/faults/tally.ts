import { LINE_POINTS, PORT_POINTS, type Action, type Order, type Point } from "./points.ts";

/** A broken guarantee with its evidence. */
export interface Violation {
  readonly promise: string;
  readonly profile: string;
  readonly details: unknown;
  /** Database rows about it. */
  rows?: object;
}

/** Names of the counters. */
const COUNTED = [
  "requests",
  "calls",
  "acknowledged",
  "metered",
  "streamed",
  "keyless",
  "payments",
  "forks",
  "promised",
  "durable",
  "replays",
  "fenced",
  "restarts",
  "crashes",
  "rpc",
  "audits",
  "quiet",
] as const;

export type Counted = (typeof COUNTED)[number];

/** Counters of the run. */
export class Tally {
  readonly counts: Record<Counted, number> = {
    requests: 0,
    calls: 0,
    acknowledged: 0,
    metered: 0,
    streamed: 0,
    keyless: 0,
    payments: 0,
    forks: 0,
    promised: 0,
    durable: 0,
    replays: 0,
    fenced: 0,
    restarts: 0,
    crashes: 0,
    rpc: 0,
    audits: 0,
    quiet: 0,
  };
  readonly actions: Record<Action, number> = { kill: 0, stall: 0, delay: 0, fail: 0, cut: 0 };
  readonly strikes = new Map<Point, number>([...PORT_POINTS, ...LINE_POINTS].map((point) => [point, 0]));
  /** Responses by status and code. */
  readonly answers = new Map<string, number>();
  readonly violations: Violation[] = [];
  #closed = false;
  /** The active profile. */
  profile = "";

  count(what: Counted, by = 1): void {
    this.counts[what] += by;
  }

  struck({ point, action }: Order): void {
    this.actions[action]++;
    this.strikes.set(point, (this.strikes.get(point) ?? 0) + 1);
  }

  answered(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
  }

  violated(promise: string, details: unknown): void {
    if (this.#closed) return;
    this.violations.push({ promise, profile: this.profile, details });
  }

  /** Ignores violations from now on: an interrupted run is not judged. */
  close(): void {
    this.#closed = true;
  }

  get neverStruck(): Point[] {
    return [...this.strikes].filter(([, count]) => count === 0).map(([point]) => point);
  }
}
