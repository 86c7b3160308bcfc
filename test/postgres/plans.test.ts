import type { PoolClient } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FORGET } from "../../src/postgres/sweeper.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { makeAccount, openInstance, type Instance } from "./fixture.ts";

const ROWS = 100_000;

let database: TestDatabase;
let instance: Instance;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
  accountId = await makeAccount(instance.pool, 0n);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

/** How the database would run a statement for whatever parameters, with nothing forbidden to it. */
async function planOf(client: PoolClient, statement: string, values: readonly string[]): Promise<string> {
  await client.query("set plan_cache_mode = force_generic_plan");
  await client.query(`prepare planned as ${statement}`);
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (costs off) execute planned (${values.join(", ")})`,
  );
  await client.query("deallocate planned; reset plan_cache_mode");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

describe("with a hundred thousand rows", () => {
  it("keys are forgotten along their index, whether few or all of them have expired", async () => {
    const client = await instance.pool.connect();
    try {
      for (const expiring of [0, 1_000, ROWS]) {
        await client.query("truncate idempotency");
        await client.query(
          `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
           select $1, 'key:' || n, decode(repeat('00', 32), 'hex'), 'retryable', gen_random_uuid(),
                  case when n <= $2 then now() - interval '1 day' else 'infinity' end
           from generate_series(1, ${ROWS}) n`,
          [accountId.slice(5), expiring],
        );
        await client.query("analyze idempotency");
        const plan = await planOf(client, FORGET, ["100"]);
        expect(plan).toContain("idempotency_expires_at_index");
        expect(plan).not.toContain("Seq Scan");
      }
    } finally {
      client.release();
    }
  });
});
