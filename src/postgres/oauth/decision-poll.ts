import { setTimeout as sleep } from "node:timers/promises";
import type { Parts } from "../database/parts.ts";

/** Pause between two queries, ms. */
const INTERVAL_MS = 500;

/** Waits for decisions on requests. One query at a time serves all who wait, and none runs without any. */
export class DecisionPoll {
  readonly #pool: Parts["pool"];
  readonly #waiting = new Map<Buffer, (settled: boolean) => void>();
  #running = false;

  constructor(pool: Parts["pool"]) {
    this.#pool = pool;
  }

  /** @returns whether the request was decided, withdrawn or has expired within `ms` */
  async settled(record: Buffer, ms: number, signal: AbortSignal): Promise<boolean> {
    const decided = Promise.withResolvers<boolean>();
    const end = () => decided.resolve(false);
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    this.#waiting.set(record, decided.resolve);
    if (!this.#running) void this.#run();
    try {
      return await decided.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      this.#waiting.delete(record);
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.size > 0) {
      // Without those that begin to wait during the query.
      const asked = [...this.#waiting];
      const open = await this.#open(asked.map(([record]) => record));
      for (const [record, resolve] of asked) if (open && !open.has(record.toString("hex"))) resolve(true);
      await sleep(INTERVAL_MS, undefined, { ref: false });
    }
    this.#running = false;
  }

  /** Undefined while the database does not answer: those who wait go on waiting. */
  async #open(records: readonly Buffer[]): Promise<ReadonlySet<string> | undefined> {
    try {
      const { rows } = await this.#pool.query<{ id: Buffer }>({
        name: "approval-open",
        text: `select id from oauth_record
               where id = any ($1::bytea[]) and expires_at > now() and payload ->> 'state' = 'asked'`,
        values: [records],
      });
      return new Set(rows.map(({ id }) => id.toString("hex")));
    } catch {
      return undefined;
    }
  }
}
