import type { Pool } from "pg";
import { uuidAt } from "../database/entry-ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { CALLS_OF_ALL, SLOT_MS } from "./usage-sql.ts";

/**
 * Age of what is counted, ms. Entries are dated at the start of their transaction and runs by the clock of
 * their instance, so both may appear that much later.
 */
const SETTLED_MS = 300_000;

/** Most slots per statement. */
const SLOTS = 24;

/**
 * Where counting stands, and up to where it may go: to the first run that is active, because it may still
 * fail. Both at the start of a slot.
 */
const STATE = /* sql */ `
  select nullif(counted_to, '-infinity') as counted_to, now() as now,
    least(
      (select created_at from run order by id limit 1),
      (select created_at from receipt order by id limit 1)) as first_at,
    (select min(created_at) from run where status = 'active') as active_at
  from usage_mark`;

/** Counts calls with ids from $1 to $2, from $3 to $4, once: the mark must still be $5. */
const COUNT = /* sql */ `
  with mark as (
    update usage_mark set counted_to = $3::timestamptz
    where counted_to = coalesce($4::timestamptz, '-infinity') returning 1
  )
  insert into usage_slot (
    account_id, slot, tool, key_id, model, code, calls, spent, costed, cost, latency)
  select counted.* from (${CALLS_OF_ALL}) counted where exists (select from mark)`;

interface StateRow {
  counted_to: Date | null;
  now: Date;
  first_at: Date | null;
  active_at: Date | null;
}

/** Counts calls by quarter of an hour once they can no longer change. */
export class UsageCounter {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Counts all complete slots that are not counted; several instances may do so at once. */
  async count(signal: AbortSignal): Promise<void> {
    let more = true;
    while (more && !signal.aborted) more = await this.#next();
  }

  /** @returns whether there may be more */
  async #next(): Promise<boolean> {
    const [state] = await queryWithRetry<StateRow>(this.#pool, {
      name: "usage-state",
      text: STATE,
      values: [],
    });
    if (!state) throw new Error("usage_mark has no row");
    const { counted_to: countedTo, now, first_at: firstAt, active_at: activeAt } = state;
    const end = slotOf(Math.min(now.getTime() - SETTLED_MS, activeAt?.getTime() ?? Infinity));
    const start = countedTo?.getTime() ?? (firstAt ? slotOf(firstAt.getTime()) - SLOT_MS : end);
    const to = Math.min(end, start + SLOTS * SLOT_MS);
    if (to < start || (to === start && countedTo !== null)) return false;
    await queryWithRetry(this.#pool, {
      name: "usage-count",
      text: COUNT,
      values: [uuidAt(start), uuidAt(to), new Date(to), countedTo],
    });
    return to < end;
  }
}

function slotOf(ms: number): number {
  return Math.floor(ms / SLOT_MS) * SLOT_MS;
}
