import { query } from "../../support/database-server.ts";
import type { Part } from "../bench.ts";
import { paidCalls } from "./paid-call.ts";

/** Paid calls of many accounts, and what they write. */
export const paidMany: Part = {
  name: "paid-many",
  title: "7. paid call, 1,000 accounts",
  why: "Operators: what one machine carries, and how large its disk must be",
  async run(bench) {
    const url = await bench.world.createDatabase("paid_many");
    const { lines, full } = await paidCalls(bench, url, bench.plan.quick ? 10 : 1_000);
    const before = await written(url);
    await full();
    const after = await written(url);
    const perCall = (bytes: number) => `${(bytes / (after.calls - before.calls)).toFixed(0)} bytes`;
    return [
      ...lines,
      { measure: "write-ahead log per call", gateway: perCall(after.log - before.log), peer: "" },
      { measure: "growth of the database per call", gateway: perCall(after.size - before.size), peer: "" },
    ];
  },
};

/** Calls up to now, and bytes: of the server's log, of this database's tables and indexes. */
async function written(url: string): Promise<{ calls: number; log: number; size: number }> {
  const { rows } = await query(
    url,
    `select (select count(*) from run)::integer as calls,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float as log,
            pg_database_size(current_database())::float as size`,
  );
  return rows[0];
}
