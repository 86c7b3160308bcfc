import { randomBytes } from "node:crypto";
import { query } from "../support/database-server.ts";
import type { Bench } from "./bench.ts";
import { askOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded, type Plan, type Side } from "./measure.ts";
import { p99Line, throughputLine, type Line } from "./report.ts";

const CONNECTIONS = 16;

/** Starting balance of each account: more than any run spends. */
const USDC = "1000000";

/** As short as it may be, ms, since what is old is looked for three times in so long. */
const LEASE_MS = 1_000;

/** More calls than any gateway answers in a millisecond. */
const CALLS_A_MS = 5;

const NOTHING_OLD = "nothing is old";

/** Paid calls with keys while expired records are removed, against the same where nothing has expired. */
export async function retention(bench: Bench): Promise<Line[]> {
  const { plan } = bench;
  const calm = await openSide(bench, "calm");
  const removing = await openSide(bench, "removing");
  await fillRecords(bench, calm, "47 hours");
  await fillRecords(bench, removing, "-1 hour");
  let [removed, seconds] = [0, 0];
  const watched: Side = async () => {
    const before = await expiredIn(removing.url);
    const rate = await removing.side();
    const left = await expiredIn(removing.url);
    if (left === 0) throw new Error("there was nothing left to remove: what was measured is calm");
    removed += before - left;
    seconds += (warmUpOf(plan) + plan.windowMs) / 1000;
    return rate;
  };
  const comparison = await compare(watched, calm.side, plan);
  const name = `paid call, ${CONNECTIONS} connections, while old records are removed`;
  return [
    throughputLine(name, comparison, NOTHING_OLD, 0.9),
    ...p99Line(name, comparison, NOTHING_OLD, 1.2),
    {
      measure: "old records removed under that load, against new ones",
      gateway: `${(removed / seconds).toFixed(0)}/s`,
      peer: `made ${comparison.gateway.perSecond.toFixed(0)}/s`,
      value: removed / seconds / comparison.gateway.perSecond,
      bar: { atLeast: 1 },
    },
  ];
}

/** A database and what is measured on it: each time by a new gateway, so that the other one does nothing meanwhile. */
async function openSide(
  { world, plan, scale, signal, load }: Bench,
  name: string,
): Promise<{ url: string; keys: readonly string[]; side: Side }> {
  const url = await world.createDatabase(name);
  const keys = await world.createAccounts(scale.accounts, USDC, url);
  const generator = load("http");
  const own: Plan = { ...plan, warmUpMs: warmUpOf(plan) };
  const side: Side = async () => {
    const gateway = await world.serve({ databaseUrl: url, env: { RUN_LEASE_MS: String(LEASE_MS) } });
    try {
      const job = {
        ...{ host: "127.0.0.1", port: gateway.httpPort, connections: CONNECTIONS },
        requests: callsWithKeys(keys, (own.warmUpMs + own.windowMs) * CALLS_A_MS),
        expect: { status: 200, body: '"receipt_id":"rcpt_' },
      };
      return await loaded(generator, gateway.server, job, own, signal)();
    } finally {
      await gateway.server.stop();
    }
  };
  return { url, keys, side };
}

/** A new process is slow at first, and has to find what is old. */
function warmUpOf({ warmUpMs }: Plan): number {
  return 4 * warmUpMs;
}

/** Calls that are all different, of the accounts in turn. */
function callsWithKeys(keys: readonly string[], count: number): string[] {
  const prefix = randomBytes(8).toString("hex");
  return Array.from({ length: count }, (_, n) =>
    toolCallRequest(keys[n % keys.length] ?? "", { ...PAID_CALL, idempotency_key: `${prefix}-${n}` }),
  );
}

/** Makes records that expire one after the other within an hour, all with the answer of a real call. @param from when, from now */
async function fillRecords(
  { world, scale }: Bench,
  { url, keys: [key = ""] }: { url: string; keys: readonly string[] },
  from: "-1 hour" | "47 hours",
): Promise<void> {
  const gateway = await world.serve({ databaseUrl: url });
  try {
    await askOnce(gateway.httpPort, key, { ...PAID_CALL, idempotency_key: "first" }, 200);
  } finally {
    await gateway.server.stop();
  }
  // The answer goes from row to row as it is stored: to compress it each time would take minutes.
  await query(
    url,
    `set synchronous_commit = off;
     insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select account.id, 'key:old-' || n, sha256(int8send(n)), 'done', gen_random_uuid(), answer.result,
            now() + interval '${from}' + n * interval '1 hour' / ${scale.expired}
     from generate_series(1, ${scale.expired}) n
     join (select id, row_number() over () - 1 as at, count(*) over () as accounts from account) account
       on account.at = n * 7919::bigint % account.accounts
     cross join (select result from idempotency where key = 'key:first') answer
     order by n`,
  );
  await query(url, "vacuum analyze");
  await query(url, "checkpoint");
}

async function expiredIn(url: string): Promise<number> {
  const { rows } = await query(url, "select count(*)::integer as old from idempotency where expires_at < now()");
  return rows[0].old;
}
