import { LATENCY_BOUNDS_MS } from "../../domain/calls/latency.ts";

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
