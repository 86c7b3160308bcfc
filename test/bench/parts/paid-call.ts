import type { Bench } from "../bench.ts";
import { PAID_ANSWER, PAID_CALL, toolCallRequest } from "../http-request.ts";
import { openLeanSql } from "../lean-sql.ts";
import { compare, type Side } from "../measure.ts";
import { line, type Line } from "../report.ts";

const PEER = "lean SQL by pgbench";

/**
 * Paid calls over HTTP, and PostgreSQL with the leanest SQL of them, one call at a time on each connection.
 * A ratio above 1 is possible because the gateway commits calls in batches.
 * @param url of the gateway's database
 * @returns the rows, and the gateway's side at 64 connections
 */
export async function paidCalls(
  bench: Bench,
  url: string,
  accounts: number,
): Promise<{ lines: Line[]; full: Side }> {
  const keys = await bench.world.createAccounts(accounts, "1000000", url);
  const gateway = await bench.serve({ databaseUrl: url });
  const sql = await openLeanSql(bench, `lean_${accounts}`);
  const requests = keys.map((key) => toolCallRequest(key, PAID_CALL));
  const side = (connections: number) => bench.side(gateway, { connections, requests, expect: PAID_ANSWER });
  const [few, full] = [side(4), side(64)];
  const lines: Line[] = [];
  for (const [connections, calls] of [
    [4, few],
    [64, full],
  ] as const) {
    const rounds = await compare(calls, sql(accounts, connections), bench.plan);
    const name = `${connections} connections`;
    lines.push(
      line(`${name}: throughput, CPU`, rounds, PEER, ["perSecond", "cpuMicros", "databaseMicros"]),
      line(`${name}: p99`, rounds, PEER, ["p99Ms"]),
    );
  }
  return { lines, full };
}
