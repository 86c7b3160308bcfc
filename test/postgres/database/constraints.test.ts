import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it, beforeEach } from "vitest";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import { makeAccount, openLedger, depositOf, paymentOf, PRICE } from "../fixture.ts";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";
import { openOrm } from "../../../src/postgres/database/orm.ts";
import { checkDurability, openPool } from "../../../src/postgres/database/pool.ts";

// Constraints that hold even if the ledger functions fail. Each test writes to the tables directly.
const { database, pool, one } = await openLedger();
let account: string;
let run: string;
let signature: Buffer;

/** A charged call with payment: one row per table. */
beforeEach(async () => {
  const accountId = await one.account();
  const deposit = depositOf();
  const { call } = await one.buy(accountId, { idempotencyKey: "k", payment: paymentOf(deposit) });
  [account, run, signature] = [accountId.slice(5), call.runId.slice(4), signatureFrom(deposit.reference)];
});

const paymentRef = () => Buffer.concat([Buffer.from("solana-mainnet\0"), signature]);
const refusal = (constraint: string) => expect.objectContaining({ constraint });

/** Inserts a copy of a row with changed columns. */
async function copy(
  table: string,
  where: string,
  value: unknown,
  changes: Record<string, string> = {},
): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0
      and not attisdropped`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => changes[name] ?? name);
  await pool.query(
    `insert into ${table} (${names.join(", ")}) select ${values.join(", ")} from ${table}
      where ${where} = $1`,
    [value],
  );
}

const anySignature = () => `'\\x${randomBytes(64).toString("hex")}'`;
const anyId = () => `'${randomUUID()}'`;

const paymentTwice = (changes: Record<string, string>) => copy("payment", "reference", signature, changes);
const changePayment = (set: string) =>
  pool.query(`update payment set ${set} where reference = $1`, [signature]);
const receiptTwice = (changes: Record<string, string>) =>
  copy("receipt", "run_id", run, { id: anyId(), ...changes });
const receiptOfOther = (debited: string) => receiptTwice({ run_id: anyId(), debited });
const copyTransfer = (changes: Record<string, string>) => copy("transfer", "ref", paymentRef(), changes);
const changeClaim = (set: string) =>
  pool.query(`update idempotency set ${set} where account_id = $1`, [account]);

describe("table constraints", () => {
  it.each<[string, () => Promise<unknown>, string]>([
    ["a second payment for one transaction", () => paymentTwice({ quote_id: "'qt_other'" }), "payment_pkey"],
    [
      "a second payment of a quote",
      () => paymentTwice({ reference: anySignature() }),
      "payment_settled_quote_unique",
    ],
    [
      "a reversed final payment",
      () => changePayment("reversed = true, finalized = true"),
      "payment_reversed_check",
    ],
    ["assigning an owned payment", () => changePayment("assigned_to = account_id"), "payment_assigned_check"],
    ["settling without fingerprint", () => changePayment("fingerprint = null"), "payment_settled_check"],
    ["a settled payment without a claim", () => changePayment("claim_key = null"), "payment_settled_check"],
    ["a second equal transfer", () => copyTransfer({ id: anyId() }), "transfer_kind_ref_unique"],
    ["a second receipt for a run", () => receiptTwice({}), "receipt_month_pkey"],
    ["a receipt above the hold", () => receiptOfOther("quoted + 1"), "receipt_captured_check"],
    ["a receipt of nothing", () => receiptOfOther("0"), "receipt_captured_check"],
    ["an unknown status", () => copy("run", "id", run, { status: "'ended'" }), "run_status_check"],
    ["an unknown outcome", () => copy("run", "id", run, { outcome: "'ended'" }), "execution_outcome_check"],
    [
      "an unknown source of run",
      () => copy("run", "id", run, { paid_by: "'credit'" }),
      "payment_source_check",
    ],
    ["an unknown source of a receipt", () => receiptTwice({ paid_by: "'credit'" }), "payment_source_check"],
    ["an unknown kind of transfer", () => copyTransfer({ kind: "'gift'" }), "transfer_kind_check"],
    [
      "a second equal claim",
      () => copy("idempotency", "account_id", account, { run_id: anyId() }),
      "idempotency_pkey",
    ],
    ["a finished claim without a result", () => changeClaim("result = null"), "idempotency_result_check"],
    ["a result before the end", () => changeClaim("state = 'retryable'"), "idempotency_result_check"],
  ])("reject %s", async (_what, attempt, constraint) => {
    // A partition's name holds its month.
    const named = expect.stringMatching(new RegExp(`^${constraint.replace("month", "\\w+")}$`));
    await expect(attempt()).rejects.toEqual(refusal(named));
  });

  it("accept an unsettled payment for a quote that is paid", async () => {
    const unsettled = { reference: anySignature(), settled: "false" };
    await expect(paymentTwice(unsettled)).resolves.toBeUndefined();
  });

  it("reject a second movement for a transaction, and any change of a movement", async () => {
    const [token, movement] = [randomBytes(32), randomBytes(64)];
    const write = () =>
      pool.query(
        `insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
          values ($1, $2, 1, now(), 5)`,
        [token, movement],
      );
    await write();
    await expect(write()).rejects.toEqual(refusal("treasury_movement_pkey"));
    for (const change of ["update treasury_movement set change = 6", "delete from treasury_movement"])
      await expect(pool.query(change)).rejects.toThrow("treasury_movement is append-only");
  });

  it("reject a balance that changes without its number", async () => {
    const change = pool.query("update account set available = available + 1");
    await expect(change).rejects.toThrow("a balance changes only with its number");
  });

  it("reject a customer account with a system account's identifier", async () => {
    for (const id of Object.values(SYSTEM_ACCOUNTS)) {
      const wallet = randomUUID();
      const made = copy("account", "id", account, { id: `'${id}'`, wallet: `'${wallet}'` });
      await expect(made).rejects.toEqual(refusal("account_id_check"));
    }
  });

  it("reject one API key for two accounts", async () => {
    const key =
      "insert into api_key (id, account_id, sha256, prefix, name, scopes) values ($1, $2, $3, '', '', '{}')";
    const sha256 = randomBytes(32);
    await pool.query(key, [randomUUID(), account, sha256]);
    const other = (await makeAccount(pool, 0n)).slice(5);
    const again = pool.query(key, [randomUUID(), other, sha256]);
    await expect(again).rejects.toEqual(refusal("api_key_sha256_unique"));
  });
});

describe("the schema", () => {
  it("matches the entities: tables, columns, types, keys and indexes", async () => {
    const orm = await openOrm(database.url, 1);
    try {
      const sql = await orm.schema.getUpdateSchemaSQL({ safe: false, dropTables: false, wrap: false });
      // Migrations own the checks; entities do not repeat them.
      const difference = sql
        .split("\n")
        .filter((line) => line !== "" && !/drop constraint "\w+_check";$/.test(line));
      expect(difference).toEqual([]);
    } finally {
      await orm.close();
    }
  });

  it("protects transfers, receipts and movements from changes", async () => {
    const account = await makeAccount(pool, PRICE);
    await one.buy(account);
    for (const table of ["transfer", "receipt", "treasury_movement", "config_version"]) {
      for (const change of [
        `update ${table} set ${table === "config_version" ? "applied_at" : "created_at"} = now()`,
        `delete from ${table}`,
        `truncate ${table}`,
      ]) {
        await expect(pool.query(change), change).rejects.toThrow(`${table} is append-only`);
      }
    }
  });

  it("is on a durable database", async () => {
    expect(await checkDurability(pool)).toEqual([]);
    for (const commit of ["off", "local"]) {
      const forgetful = openPool(`${database.url}?options=-c%20synchronous_commit%3D${commit}`, {
        max: 1,
        applicationName: "test",
      });
      const problem = expect.stringContaining(`synchronous_commit=${commit}`);
      expect(await checkDurability(forgetful)).toEqual([problem]);
      await forgetful.end();
    }
  });
});
