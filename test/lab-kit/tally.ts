/** A broken promise with its evidence. */
export interface Violation {
  readonly promise: string;
  readonly profile: string;
  readonly details: unknown;
  /** Database rows about it. */
  rows?: object;
}

const NONE = {
  ...{ calls: 0, requests: 0, acknowledged: 0, metered: 0, streamed: 0, keyless: 0, payments: 0, forks: 0 },
  ...{ promised: 0, durable: 0, replays: 0, audits: 0, quiet: 0 },
  ...{ restarts: 0, fenced: 0, crashes: 0, rpc: 0 },
};

/** Counters and broken promises of a run. */
export class Tally {
  readonly counts: Record<keyof typeof NONE, number> = { ...NONE };
  /** Responses by status and code. */
  readonly answers = new Map<string, number>();
  readonly violations: Violation[] = [];
  /** What the lab does now. */
  profile = "";
  #closed = false;

  count(what: keyof typeof NONE, by = 1): void {
    this.counts[what] += by;
  }

  answered(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1);
  }

  violated(promise: string, details: unknown): void {
    if (!this.#closed) this.violations.push({ promise, profile: this.profile, details });
  }

  /** Ignores violations from now on. */
  close(): void {
    this.#closed = true;
  }
}
