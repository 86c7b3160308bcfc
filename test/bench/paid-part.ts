import type { Bench } from "./bench.ts";
import { PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded } from "./measure.ts";
import { throughputLine, type Line } from "./report.ts";
import { openSqlPeer } from "./sql-peer.ts";

/** Starting balance of every account: more than any run spends. */
const USDC = "1000000";

/**
 * Paid calls from the balance, HTTP and all, against PostgreSQL doing nothing but their SQL, one call a transaction. More than 1 is
 * possible because the gateway commits many calls at once.
 */
export async function paidCalls(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, scale, signal } = bench;
  const keys = await world.createAccounts(scale.accounts, USDC);
  const sql = await openSqlPeer(world, scale.accounts);
  const load = bench.load("http");
  const lines: Line[] = [];
  for (const accounts of [1, scale.accounts]) {
    for (const connections of scale.connections) {
      const job = {
        host: "127.0.0.1",
        port: gateway.httpPort,
        connections,
        requests: keys.slice(0, accounts).map((key) => toolCallRequest(key, PAID_CALL)),
        expect: { status: 200, body: '"receipt_id":"rcpt_' },
      };
      const comparison = await compare(
        loaded(load, gateway.server, job, plan, signal),
        sql.side({ accounts, connections }, plan),
        plan,
      );
      const title = `paid call, ${accounts === 1 ? "one account" : `${accounts} accounts`}, ${connections} connections`;
      lines.push(throughputLine(title, comparison, sql.name, 1));
    }
  }
  return lines;
}
