import { randomBytes } from "node:crypto";
import type { Pool } from "pg";
import { openPool } from "../../src/postgres/database/pool.ts";
import { Retention } from "../../src/postgres/ledger/retention.ts";
import { query } from "../support/database-server.ts";
import type { Bench } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded, type Plan, type Side } from "./measure.ts";
import { p99Line, throughputLine, type Line } from "./report.ts";
import type { ServedGateway } from "./world.ts";

const CONNECTIONS = 16;

/** Starting balance of each account: more than any run spends. */
const USDC = "1000000";

/** Long, so that the gateway removes no expired records during the measurement. */
const LEASE_MS = 600_000;

/** More calls than any gateway answers in a millisecond. */
const CALLS_A_MS = 5;

const NOTHING_REMOVED = "nothing removed";

/** Settings of a gateway without its own retention. */
export function retentionSettings(): Record<string, string> {
  return { RUN_LEASE_MS: String(LEASE_MS) };
}

/**
 * Paid calls with keys while expired records are removed, against the same calls while they lie where they
 * are.
 */
export async function retention(bench: Bench): Promise<Line[]> {
  const { world, gateway, databaseUrl: url, plan, scale } = bench;
  const keys = await world.createAccounts(scale.accounts, USDC, url);
  const pool = openPool(url, { max: 1, applicationName: "toolgate bench" });
  try {
    await callOnce(gateway.httpPort, keys[0] ?? "", { ...PAID_CALL, idempotency_key: "first" }, 200);
    await fillExpired(url, scale.expired);
    const calm = callsOn(bench, gateway, keys);
    const removed = { rows: 0, seconds: 0 };
    const comparison = await compare(removing(calm, { pool, url, plan, removed }), calm, plan);
    const name = `paid call, ${CONNECTIONS} connections, while old records are removed`;
    const perSecond = removed.rows / removed.seconds;
    return [
      throughputLine(name, comparison, NOTHING_REMOVED, 0.9),
      ...p99Line(name, comparison, NOTHING_REMOVED, 1.2),
      {
        measure: "old records removed under that load, against new ones",
        gateway: `${perSecond.toFixed(0)}/s`,
        peer: `made ${comparison.gateway.perSecond.toFixed(0)}/s`,
        value: perSecond / comparison.gateway.perSecond,
        // Falling behind doubles it, and that again: see restAfter.
        bar: { atLeast: 0.5 },
      },
    ];
  } finally {
    await pool.end();
  }
}

function callsOn({ plan, signal, load }: Bench, gateway: ServedGateway, keys: readonly string[]): Side {
  const generator = load("http");
  return () => {
    const job = {
      ...{ host: "127.0.0.1", port: gateway.httpPort, connections: CONNECTIONS },
      requests: callsWithKeys(keys, (plan.warmUpMs + plan.windowMs) * CALLS_A_MS),
      expect: { status: 200, body: '"receipt_id":"rcpt_' },
    };
    return loaded(generator, gateway.server, job, plan, signal)();
  };
}

/** The same side during retention. */
function removing(
  side: Side,
  {
    pool,
    url,
    plan,
    removed,
  }: { pool: Pool; url: string; plan: Plan; removed: { rows: number; seconds: number } },
): Side {
  return async () => {
    const before = await expiredIn(url);
    const problems: object[] = [];
    const log = {
      info: () => {},
      warn: (problem: object) => problems.push(problem),
      error: (problem: object) => problems.push(problem),
    };
    const removal = new Retention({ pool, log });
    const round = removal.runOnce();
    const rate = await side();
    removal.stop();
    await round;
    const left = await expiredIn(url);
    if (problems.length > 0 || left === 0 || left === before)
      throw new Error(`of ${before} old records ${left} were left: nothing was measured`, {
        cause: problems[0],
      });
    removed.rows += before - left;
    removed.seconds += (plan.warmUpMs + plan.windowMs) / 1000;
    return rate;
  };
}

/** Calls that are all different, of the accounts in turn. */
function callsWithKeys(keys: readonly string[], count: number): string[] {
  const prefix = randomBytes(8).toString("hex");
  return Array.from({ length: count }, (_, n) =>
    toolCallRequest(keys[n % keys.length] ?? "", { ...PAID_CALL, idempotency_key: `${prefix}-${n}` }),
  );
}

/**
 * Inserts records that expired within the last hour.
 * Copies the stored result from row to row: compressing each one would take minutes.
 */
async function fillExpired(url: string, count: number): Promise<void> {
  await query(
    url,
    `set synchronous_commit = off;
     insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select account.id, 'key:old-' || n, sha256(int8send(n)), 'done', gen_random_uuid(), answer.result,
            now() - interval '1 hour' + n * interval '1 hour' / ${count}
     from generate_series(1, ${count}) n
     join (select id, row_number() over () - 1 as at, count(*) over () as accounts from account) account
       on account.at = n * 7919::bigint % account.accounts
     cross join (select result from idempotency where key = 'key:first') answer
     order by n`,
  );
  await query(url, "vacuum analyze");
  await query(url, "checkpoint");
}

async function expiredIn(url: string): Promise<number> {
  const { rows } = await query(
    url,
    "select count(*)::integer as old from idempotency where expires_at < now()",
  );
  return rows[0].old;
}
