import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { newId } from "../../../src/domain/core/ids.ts";
import { boundsOfMonth, type Month } from "../../../src/domain/core/month.ts";
import { systemRandom } from "../../../src/system.ts";
import { type Instance } from "../fixture.ts";

const DAY_MS = 86_400_000;

/** Attaches the month's partitions. */
export async function attachOldMonth({ pool }: Instance, month: Month): Promise<void> {
  const name = month.replace("-", "_");
  for (const table of ["run", "receipt"])
    await pool.query(
      `select partition_attach($1, $2, partition_bound($3::timestamptz),
         partition_bound($3::timestamptz + interval '1 month'))`,
      [table, `${table}_${name}`, `${month}-01T00:00:00Z`],
    );
}

/** Buys calls whose runs are of that month, then dates what they wrote into it. */
export async function buyOldCalls(
  instance: Instance,
  accountId: string,
  {
    month,
    count,
    keyId,
    payment,
  }: {
    month: Month;
    count: number;
    keyId?: string | undefined;
    payment?: CallAuthorization["payment"];
  },
): Promise<{ runId: string; receiptId: string }[]> {
  const { start } = boundsOfMonth(month);
  const bought: { runId: string; receiptId: string }[] = [];
  for (let index = 0; index < count; index += 1) {
    const clock = { now: () => start + DAY_MS + index * 60_000 };
    const { call, receiptId } = await instance.buy(accountId, {
      runId: newId("run", clock, systemRandom),
      ...(keyId !== undefined && { keyId }),
      payment,
    });
    bought.push({ runId: call.runId, receiptId });
  }
  await dateBack(instance, month);
  const { rows } = await instance.pool.query<{ id: string; run_id: string }>(
    "select id, run_id from receipt where run_id = any ($1::uuid[])",
    [bought.map(({ runId }) => runId.slice(4))],
  );
  const dated = new Map(rows.map((row) => [row.run_id.replaceAll("-", ""), row.id.replaceAll("-", "")]));
  return bought.map(({ runId }) => ({ runId, receiptId: `rcpt_${dated.get(runId.slice(4))}` }));
}

/** A call of that month that failed. */
export async function failOldCall(instance: Instance, accountId: string, month: Month): Promise<string> {
  const clock = { now: () => boundsOfMonth(month).start + 2 * DAY_MS };
  const call = await instance.fail(accountId, { runId: newId("run", clock, systemRandom) });
  await dateBack(instance, month);
  return call.runId;
}

/** Dates the rows of today that belong to runs of that month to the times of their runs. */
async function dateBack({ pool }: Instance, month: Month): Promise<void> {
  const name = month.replace("-", "_");
  const at = (id: string) => `to_timestamp(('x' || left(replace(${id}::text, '-', ''), 12))::bit(48)::bigint
    / 1000.0) + interval '1.234567 seconds'`;
  await pool.query(`
    begin; set local session_replication_role = replica;
    update run_${name} set created_at = ${at("id")}, started_at = ${at("id")}, ended_at = ${at("id")}
    where ended_at > now() - interval '1 day';
    update receipt_${name} set id = ledger_id(${at("run_id")}), created_at = ${at("run_id")}
    where created_at > now() - interval '1 day';
    commit`);
}

/** Dates entries of the last minutes back, so that an audit can seal them. */
export async function dateEntriesBack({ pool }: Instance): Promise<void> {
  await pool.query(`
    begin; set local session_replication_role = replica;
    update transfer set id = ledger_id(created_at - interval '400 days'),
      created_at = created_at - interval '400 days'
    where created_at > now() - interval '1 hour';
    commit`);
}
