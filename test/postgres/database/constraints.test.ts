import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  makeAccount,
  openInstance,
  paymentOf,
  type Instance,
} from "../fixture.ts";

// Constraints that hold even if the ledger functions fail. Each test writes to the tables directly.
let database: TestDatabase;
let instance: Instance;
let account: string;
let run: string;
let signature: Buffer;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

/** A charged call with payment: one row per table. */
beforeEach(async () => {
  const accountId = await makeAccount(instance.pool, 0n);
  const deposit = depositOf();
  const call = callOf(accountId, { idempotencyKey: "k", payment: paymentOf(deposit) });
  await instance.ledger.authorize(call);
  await instance.ledger.capture(completed(call));
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
  const { rows } = await instance.pool.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0
      and not attisdropped`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => changes[name] ?? name);
  await instance.pool.query(
    `insert into ${table} (${names.join(", ")}) select ${values.join(", ")} from ${table}
      where ${where} = $1`,
    [value],
  );
}

const anySignature = () => `'\\x${randomBytes(64).toString("hex")}'`;
const anyId = () => `'${randomUUID()}'`;

describe("table constraints", () => {
  it("reject a second payment for one transaction", async () => {
    const again = copy("payment", "reference", signature, { quote_id: "'qt_other'" });
    await expect(again).rejects.toEqual(refusal("payment_pkey"));
  });

  it("reject a second settled payment for a quote, but not an unsettled one", async () => {
    const second = copy("payment", "reference", signature, { reference: anySignature() });
    await expect(second).rejects.toEqual(refusal("payment_settled_quote_unique"));
    const unsettled = { reference: anySignature(), settled: "false" };
    await expect(copy("payment", "reference", signature, unsettled)).resolves.toBeUndefined();
  });

  it("reject a payment that is both reversed and finalized", async () => {
    const both = instance.pool.query(
      "update payment set reversed = true, finalized = true where reference = $1",
      [signature],
    );
    await expect(both).rejects.toEqual(refusal("payment_reversed_check"));
  });

  it("reject assigning a payment that has an account", async () => {
    const given = instance.pool.query("update payment set assigned_to = account_id where reference = $1", [
      signature,
    ]);
    await expect(given).rejects.toEqual(refusal("payment_assigned_check"));
  });

  it("reject a settled payment without a call", async () => {
    for (const column of ["fingerprint", "claim_key"]) {
      const change = `update payment set ${column} = null where reference = $1`;
      await expect(instance.pool.query(change, [signature])).rejects.toEqual(
        refusal("payment_settled_check"),
      );
    }
  });

  it("reject a second transfer with the same kind and reference", async () => {
    await expect(copy("transfer", "ref", paymentRef(), { id: anyId() })).rejects.toEqual(
      refusal("transfer_kind_ref_unique"),
    );
  });

  it("reject a second receipt for a run", async () => {
    await expect(copy("receipt", "run_id", run, { id: anyId() })).rejects.toEqual(
      refusal(expect.stringMatching(/^receipt_\w+_pkey$/)),
    );
  });

  it("reject a receipt of more than the run held", async () => {
    const more = { id: anyId(), run_id: anyId(), debited: "quoted + 1" };
    await expect(copy("receipt", "run_id", run, more)).rejects.toEqual(refusal("receipt_captured_check"));
    const nothing = { ...more, debited: "0" };
    await expect(copy("receipt", "run_id", run, nothing)).rejects.toEqual(refusal("receipt_captured_check"));
  });

  it("reject unknown statuses, sources and kinds", async () => {
    for (const [table, key, changes, domain] of [
      ["run", "id", { status: "'ended'" }, "run_status"],
      ["run", "id", { outcome: "'ended'" }, "execution_outcome"],
      ["run", "id", { paid_by: "'credit'" }, "payment_source"],
      ["receipt", "run_id", { paid_by: "'credit'" }, "payment_source"],
      ["transfer", "ref", { kind: "'gift'" }, "transfer_kind"],
    ] as const) {
      const value = table === "transfer" ? paymentRef() : run;
      await expect(copy(table, key, value, changes)).rejects.toEqual(refusal(`${domain}_check`));
    }
  });

  it("reject a second claim with the same key and account", async () => {
    const again = copy("idempotency", "account_id", account, { run_id: anyId() });
    await expect(again).rejects.toEqual(refusal("idempotency_pkey"));
  });

  it("reject a finished claim without a result, and a result before the end", async () => {
    for (const change of ["result = null", "state = 'retryable'"]) {
      const update = instance.pool.query(`update idempotency set ${change} where account_id = $1`, [account]);
      await expect(update).rejects.toEqual(refusal("idempotency_result_check"));
    }
  });

  it("reject a second movement for a transaction, and any change of a movement", async () => {
    const [token, movement] = [randomBytes(32), randomBytes(64)];
    const write = () =>
      instance.pool.query(
        `insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
          values ($1, $2, 1, now(), 5)`,
        [token, movement],
      );
    await write();
    await expect(write()).rejects.toEqual(refusal("treasury_movement_pkey"));
    for (const change of ["update treasury_movement set change = 6", "delete from treasury_movement"])
      await expect(instance.pool.query(change)).rejects.toThrow("treasury_movement is append-only");
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
    await instance.pool.query(key, [randomUUID(), account, sha256]);
    const other = (await makeAccount(instance.pool, 0n)).slice(5);
    const again = instance.pool.query(key, [randomUUID(), other, sha256]);
    await expect(again).rejects.toEqual(refusal("api_key_sha256_unique"));
  });
});

describe("a role without grants", () => {
  it("cannot call any function that writes", async () => {
    const client = await instance.pool.connect();
    try {
      await client.query("begin; create role stranger; set local role stranger");
      const { rows } = await client.query(
        `select proname from pg_proc where pronamespace = 'public'::regnamespace
            and proname ~ '^(ledger|treasury|rate)_'
         and has_function_privilege('stranger', oid, 'execute')`,
      );
      expect(rows).toEqual([]);
      await expect(client.query("select treasury_reverse('', '')")).rejects.toMatchObject({ code: "42501" });
    } finally {
      await client.query("rollback");
      client.release();
    }
  });
});
