import type { Pool } from "pg";
import { LATENCY_BOUNDS_MS } from "../../domain/calls/latency.ts";
import { uuidAt } from "../database/entry-ids.ts";
import { queryWithRetry } from "../database/retry.ts";

/** Length of a slot: all time zones of today begin their hours on one. */
export const SLOT_MS = 900_000;

const BOUNDS = LATENCY_BOUNDS_MS.join(",");
const CLASSES = [...LATENCY_BOUNDS_MS, Infinity].map((_, at) => at);

const LATENCY_COUNTS = CLASSES.map((at) => `count(*) filter (where class = ${at})`).join(", ");

/** The counts of several rows. */
export const LATENCY_SUMS = CLASSES.map((at) => `coalesce(sum(latency[${at + 1}]), 0)::bigint`).join(", ");

/** The zero UUID stands for none. */
export const NO_KEY = "00000000-0000-0000-0000-000000000000";

const KEY = `coalesce(run.key_id, '${NO_KEY}'::uuid)`;

const COUNTED = /* sql */ `
  account_id, date_bin('15 minutes', at, '2000-01-01 00:00:00+00') as slot, tool, key_id, model, code,
  count(*) as calls, coalesce(sum(amount), 0)::bigint as spent,
  coalesce(sum(amount) filter (where cost is not null), 0)::bigint as costed,
  coalesce(sum(cost), 0)::bigint as cost, array[${LATENCY_COUNTS}] as latency`;

const CHARGE = /* sql */ `
  select receipt.account_id, receipt.created_at as at, receipt.tool, ${KEY} as key_id,
    coalesce(run_model.model, '') as model, '' as code, receipt.debited as amount, run_model.cost,
    width_bucket((extract(epoch from run.ended_at - run.created_at) * 1000)::float8,
      '{${BOUNDS}}'::float8[]) as class
  from receipt
  left join run on run.id = receipt.run_id
  left join run_model on run_model.run_id = receipt.run_id`;

/** Failed runs are dated by their start, which is in their id. */
const FAILURE = /* sql */ `
  select run.account_id, run.created_at, run.tool, ${KEY},
    coalesce(run_model.model, ''), coalesce(nullif(run.error_code, ''), 'INTERNAL'), 0, null, null
  from run left join run_model on run_model.run_id = run.id
  where run.status in ('failed', 'cancelled')`;

/** Rows of usage_slot for account $1, of charges and runs with ids from $2 to $3. */
export const CALLS_OF_ACCOUNT = /* sql */ `
  select ${COUNTED} from (
    ${CHARGE} where receipt.account_id = $1 and receipt.id >= $2 and receipt.id < $3
    union all
    ${FAILURE} and run.account_id = $1 and run.id >= $2 and run.id < $3
  ) call group by 1, 2, 3, 4, 5, 6`;

/** As {@link CALLS_OF_ACCOUNT}, of all accounts, with ids from $1 to $2. */
export const CALLS_OF_ALL = /* sql */ `
  select ${COUNTED} from (
    ${CHARGE} where receipt.id >= $1 and receipt.id < $2
    union all
    ${FAILURE} and run.id >= $1 and run.id < $2
  ) call group by 1, 2, 3, 4, 5, 6`;

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
