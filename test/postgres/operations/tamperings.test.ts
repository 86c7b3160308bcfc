import process from "node:process";
import { beforeAll, describe, expect, it } from "vitest";
import type { PoolClient } from "pg";
import { compareSeals, type LoggedSeal } from "../../../src/app/operations/logged-seals.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { audited, auditSince } from "../../../src/postgres/operations/audit.ts";
import { addSeal, allSeals } from "../../../src/postgres/operations/seals.ts";
import { adjustBalance, recordAct } from "../../support/operator-acts.ts";
import { callOf, depositOf, inTransaction, openLedger, paymentOf, PRICE } from "../fixture.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";
import { ageEntries } from "./sealed-ledger.ts";
import { type Tampering, tamperings } from "./tamperings.ts";

/** All of them in the labs, a dozen in `npm test`. */
const EVERY = process.env["EVERY_CELL"] === "1";

const { one } = await openLedger();
const [account, other] = [await one.account(20n * PRICE), await one.account(20n * PRICE)];
const all = tamperings(uuidOf("acct", account) ?? "", uuidOf("acct", other) ?? "");

/** What the operator log and the gateways' logs know. */
let logged: { seals: LoggedSeal[]; actions: string[]; receipts: string[] };

beforeAll(async () => {
  await sealUntil(180);
  const token = await makeSealed();
  await ageEntries(one.pool, 120);
  await sealUntil(90);
  await makeNew(token);
  logged = {
    seals: (await allSeals(one.pool)).map((seal) => ({ ...seal, at: new Date().toISOString() })),
    actions: await idsOf("operator_action"),
    receipts: await idsOf("receipt"),
  };
});

async function sealUntil(minutesAgo: number): Promise<void> {
  const text = "select (now() - $1 * interval '1 minute')::text as at";
  const { rows } = await one.pool.query<{ at: string }>(text, [minutesAgo]);
  const { content, findings } = await auditSince(one.pool, { upTo: rows[0]!.at });
  expect(findings.filter(({ violations }) => violations > 0n)).toEqual([]);
  expect(await addSeal(one.pool, content!)).toBe(true);
}

/** Everything that a seal covers. @returns the treasury's token account */
async function makeSealed(): Promise<string> {
  const { pool, ledger, treasury, suspense, refunds } = one;
  const key = await one.key(account, { perDay: 10n * PRICE });
  await one.buy(account, { ...key, idempotencyKey: "old" });
  const refunded = await one.buy(account);
  await refunds.refund({ receiptId: refunded.receiptId, reason: "wrong" });
  await one.buy(account, { payment: paymentOf(depositOf({ payer: "payer" })), idempotencyKey: "paid" });
  const vanished = depositOf();
  await ledger.credit(account, vanished);
  await treasury.reverse(vanished);
  const token = await watchedAccount(one, 3n);
  const [assigned, waiting] = [movementOf({ memos: "theirs" }), movementOf({ memos: "whose" })];
  for (const movement of [assigned, waiting, movementOf({ change: -5n })])
    await treasury.record(token, movement);
  const { txSignature } = assigned;
  await suspense.assign({ txSignature, to: { accountId: other }, reason: "theirs" });
  await pool.query(`insert into config_version (version, document, checksum, source, actor)
    values (1, 'tools:', sha256('tools:'), 'apply', 'ann')`);
  return token;
}

/** What no seal covers yet. */
async function makeNew(token: string): Promise<void> {
  const { pool, ledger, treasury } = one;
  await treasury.advanceWatch(token, 2n);
  await one.buy(account, { idempotencyKey: "new" });
  await one.buy(account);
  await one.buy(account, { payment: paymentOf(depositOf()) });
  const running = callOf(account, { idempotencyKey: "running" });
  await ledger.authorize(running);
  await adjustBalance(pool, account.slice("acct_".length), { change: 77n, key: "gift" });
  await ledger.credit(account, depositOf());
  await recordAct(pool, "account.block", account);
}

async function idsOf(table: string): Promise<string[]> {
  return (await one.pool.query<{ id: string }>(`select id from ${table}`)).rows.map(({ id }) => id);
}

type Found = Tampering["found"];

/** Performs a tampering, and says which audits find it, by which checks. */
async function finders({ sql }: Tampering): Promise<Map<Found, string[]>> {
  return inTransaction(one.pool, async (client) => {
    await client.query("set local session_replication_role = replica; set local enable_nestloop = off");
    await client.query(sql);
    const found = new Map<Found, string[]>();
    for (const [by, whole] of [
      ["hourly", false],
      ["weekly", true],
    ] as const) {
      const { findings } = await audited(client, { whole });
      found.set(
        by,
        findings.filter(({ violations }) => violations > 0n).map(({ name }) => name),
      );
      await client.query("set local enable_seqscan = on");
    }
    return found.set("log", await missed(client));
  });
}

/** What the logs know and the database lacks. */
async function missed(client: PoolClient): Promise<string[]> {
  const { problems } = compareSeals(logged.seals, await allSeals(client));
  const gone = async (table: string, ids: readonly string[]) => {
    const text = `select from unnest($1::uuid[]) id where id not in (select id from ${table})`;
    return ((await client.query(text, [ids])).rowCount ?? 0) > 0;
  };
  return [
    ...(problems.length > 0 ? ["logged_seals"] : []),
    ...((await gone("operator_action", logged.actions)) ? ["logged_actions"] : []),
    ...((await gone("receipt", logged.receipts)) ? ["logged_charges"] : []),
  ];
}

describe("a superuser's tampering", () => {
  it("is not found where there is none", async () => {
    const found = await finders({ does: "nothing", sql: "select", found: "none" });
    expect(Object.fromEntries(found)).toEqual({ hourly: [], weekly: [], log: [] });
  });

  const performed = all.filter(({ short }) => EVERY || short);
  it.each(performed.map((each) => [each.does, each.found, each] as const))(
    "%s: found by %s",
    async (_, expected, tampering) => {
      const found = await finders(tampering);
      const first = (["hourly", "weekly", "log"] as const).find((by) => found.get(by)?.length);
      expect(first ?? "none", [...found.values()].flat().join(", ")).toBe(expected);
    },
  );
});
