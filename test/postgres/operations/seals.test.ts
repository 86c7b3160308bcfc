import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { auditSince, sealingAudit } from "../../../src/postgres/operations/audit.ts";
import { addSeal, settledTime } from "../../../src/postgres/operations/seals.ts";
import { idFromUuid } from "../../../src/postgres/database/row-mapping.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { chargeOf, completed, depositOf, paymentOf, PRICE, openInstance, type Instance } from "../fixture.ts";
import { ageEntries, tamperWith } from "./sealed-ledger.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";

let database: TestDatabase;
let instance: Instance;
let account: string;

beforeEach(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
  account = await instance.account(10n * PRICE);
});
afterEach(async () => {
  await instance.close();
  await database.drop();
});

/** Audits what changed, and seals what is older; by default as `toolgate audit`. */
async function seal(minutes?: number): Promise<boolean> {
  if (minutes === undefined) {
    const before = await seals();
    await sealingAudit(database.url, database)();
    return (await seals()) > before;
  }
  const { content } = await auditSince(instance.pool, { upTo: await timeBefore(minutes) });
  return content !== undefined && addSeal(instance.pool, content);
}

async function timeBefore(minutes: number): Promise<string> {
  const text = "select (now() - $1 * interval '1 minute')::text as at";
  return (await instance.pool.query<{ at: string }>(text, [minutes])).rows[0]!.at;
}

async function seals(): Promise<bigint> {
  const text = "select count(*) as seals from audit_seal";
  return (await instance.pool.query<{ seals: bigint }>(text)).rows[0]!.seals;
}

/** Names of the violated invariants. */
async function violated(whole: boolean): Promise<string[]> {
  const { findings } = await auditSince(instance.pool, { whole });
  return findings.filter(({ violations }) => violations > 0n).map(({ name }) => name);
}

async function pay(): Promise<void> {
  const call = await instance.start(account, { idempotencyKey: `key ${Math.random()}` });
  await chargeOf(instance.ledger, completed(call));
}

async function firstReceipt(): Promise<string> {
  const text = "select id from receipt where reference is null order by id limit 1";
  return idFromUuid("rcpt", (await instance.pool.query<{ id: string }>(text)).rows[0]!.id);
}

const age = (minutes: number) => ageEntries(instance.pool, minutes);
const tamper = (sql: string) => tamperWith(instance.pool, sql);

describe("seals", () => {
  it("cover what is settled, and let later audits start after them", async () => {
    await pay();
    await age(120);
    expect(await seal(90)).toBe(true);
    await pay();
    await age(60);
    expect(await seal(30)).toBe(true);
    await pay();
    expect(await seal()).toBe(true);
    const { rows } = await instance.pool.query("select number, name, entries from audit_part order by 1, 2");
    expect(rows.map(({ number, name, entries }) => `${number} ${name} ${entries}`)).toEqual([
      ...["1 accounts 1", "1 operator actions 1", expect.stringMatching(/^1 receipts of .* 1$/)],
      ...["1 transfers 1", "2 answers 1", expect.stringMatching(/^2 receipts of .* 1$/)],
    ]);
    const { findings } = await auditSince(instance.pool, {});
    expect(findings.find(({ name }) => name === "entries")?.checked).toBe(1n);
    expect([await violated(true), await violated(false)]).toEqual([[], []]);
  });

  it("let old rows change as the ledger changes them", async () => {
    const token = await watchedAccount(instance, 3n);
    const [reversed, suspended, open] = [depositOf(), movementOf(), movementOf()];
    await instance.ledger.credit(account, reversed);
    const paid = await instance.start(account, { payment: paymentOf(depositOf()) });
    await chargeOf(instance.ledger, completed(paid));
    for (const movement of [suspended, open]) await instance.treasury.record(token, movement);
    await pay();
    const running = await instance.start(account, { idempotencyKey: "running" });
    await age(120);
    expect(await seal(90)).toBe(true);

    await instance.treasury.reverse(reversed);
    const { txSignature } = suspended;
    await instance.suspense.assign({ txSignature, to: { accountId: account }, reason: "his" });
    await instance.refunds.refund({ receiptId: await firstReceipt(), reason: "wrong" });
    await chargeOf(instance.ledger, completed(running));
    await instance.treasury.record(token, movementOf({ change: -5n }));
    expect([await violated(false), await violated(true)]).toEqual([[], []]);
    await age(60);
    expect(await seal(30)).toBe(true);
    const reinstated = movementOf({ txSignature: reversed.reference, change: reversed.amount });
    await instance.treasury.record(token, reinstated);
    expect([await violated(false), await violated(true)]).toEqual([[], []]);
  });

  it("are not stored after a violation", async () => {
    await pay();
    await age(120);
    await tamper("update account set available = available + 1, seq = seq + 1");
    expect([await seal(90), await seal()]).toEqual([false, false]);
    expect(await violated(false)).toEqual(["balances", "balance_steps"]);
  });

  it("are stored once by two audits at the same time", async () => {
    await pay();
    await age(120);
    const upTo = await timeBefore(90);
    const contents = [
      (await auditSince(instance.pool, { upTo })).content!,
      (await auditSince(instance.pool, { upTo })).content!,
    ];
    const stored = await Promise.all(contents.map((content) => addSeal(instance.pool, content)));
    expect(stored.filter(Boolean)).toHaveLength(1);
    expect([await seals(), await violated(true)]).toEqual([1n, []]);
  });

  it("miss no entry that commits later than its time", async () => {
    // An entry of a time before the seal that commits between the audit and its seal.
    const { content } = await auditSince(instance.pool, { upTo: await timeBefore(90) });
    await pay();
    await age(120);
    expect(await addSeal(instance.pool, content!)).toBe(false);
    expect(await seal(90)).toBe(true);
    // The same after the seal: it is found, not lost.
    await pay();
    await age(120);
    expect(await violated(false)).toEqual(["balances", "seals"]);
    expect(await violated(true)).toContain("seals");
  });

  it("end a minute ago at the latest", async () => {
    const isAtMost = async (limit: string) => {
      const text = `select $1::timestamptz <= ${limit} as early`;
      return (await instance.pool.query(text, [await settledTime(instance.pool)])).rows[0];
    };
    expect(await isAtMost("now() - interval '1 minute'")).toEqual({ early: true });
    const refused = [await seal(0), await seal(0.5)];
    expect(refused).toEqual([false, false]);
  });
});

describe("after a seal", () => {
  beforeEach(async () => {
    await pay();
    await instance.ledger.credit(account, depositOf());
    await tamper(`
      insert into operator_action (id, actor, action, target, details)
      values (gen_random_uuid(), 'ann', 'accounts.adjust', 'acct_1', '{"micro_usd":1}');
      insert into config_version (version, document, checksum, source, actor)
      values (1, 'tools:', sha256(''), 'apply', 'ann')`);
    await age(120);
    expect(await seal(90)).toBe(true);
  });

  it("an audit finds a sealed receipt that was changed by one micro-USD", async () => {
    await tamper("update receipt set debited = debited - 1");
    expect(await violated(false)).toEqual(["seals"]);
    expect(await violated(true)).toEqual(expect.arrayContaining(["balances", "seals", "sealed_sums"]));
  });

  it("only an audit of all history compares seals that are older than a day", async () => {
    await tamper("update audit_seal set up_to = up_to - interval '1 day'; update receipt set tool = 'other'");
    expect(await violated(false)).not.toContain("seals");
    expect(await violated(true)).toContain("seals");
  });

  it("an audit finds a sealed receipt that was changed together with all sums", async () => {
    await tamper(`update receipt set debited = debited - 1; update account set available = available + 1,
        seq = seq + 1;
      update revenue_mark set amount = amount - 1;
      update audit_sum set amount = amount + case when holder = uuid_send((select id from account)) then 1
        else -1 end where holder in (uuid_send((select id from account)),
          uuid_send('00000000-0000-0000-0000-000000000002'))`);
    expect(await violated(false)).toEqual(["seals"]);
    expect(await violated(true)).toEqual(["balance_steps", "seals"]);
  });

  it("an audit of all history finds a sealed receipt that was deleted", async () => {
    await tamper("delete from receipt");
    expect(await violated(true)).toEqual(expect.arrayContaining(["seals", "runs_receipted"]));
  });

  it.each([
    ["a seal that was changed", "update audit_seal set hash = sha256('')", ["seals"]],
    ["a part that was changed", "update audit_part set hash = sha256('')", ["seals"]],
    ["a part that was deleted", "delete from audit_part where name = 'transfers'", ["seals"]],
    ["a seal that was deleted", "delete from audit_seal", ["seals", "sealed_sums"]],
    [
      "a seal that was deleted with its parts",
      "delete from audit_seal; delete from audit_part",
      ["sealed_sums"],
    ],
    ["a sealed payment's payer", "update payment set payer = 'other'", ["seals"]],
    ["a sealed operator's act", "update operator_action set details = '{}'", ["seals"]],
    ["a sealed configuration", "update config_version set document = 'tools: []'", ["seals"]],
  ])("an audit of all history finds %s", async (_, sql, found) => {
    await tamper(sql);
    expect(await violated(true)).toEqual(found);
  });

  it.each([
    ["a later receipt changed by one micro-USD", "update receipt set debited = debited - 1 where LATER"],
    ["a later receipt that was deleted", "delete from receipt where LATER"],
    ["a balance that was changed", "update account set available = available + 1, seq = seq + 1"],
    ["a sum that was changed", "update audit_sum set amount = amount + 1"],
    ["a sum that was deleted", "delete from audit_sum"],
  ])("an audit of what changed finds %s", async (_, sql) => {
    await pay();
    await tamper(sql.replace("LATER", "created_at > now() - interval '1 hour'"));
    expect(await violated(false)).toContain("balances");
    expect(await seal()).toBe(false);
  });

  it("an audit of what changed finds a completed run without a receipt", async () => {
    await instance.start(account);
    await tamper("update run set status = 'completed', ended_at = now() where status = 'active'");
    expect(await violated(false)).toEqual(["balances", "runs_receipted"]);
  });

  it("a receipt can still be refunded", async () => {
    await instance.refunds.refund({ receiptId: await firstReceipt(), reason: "wrong" });
    expect([await violated(false), await violated(true)]).toEqual([[], []]);
  });
});
