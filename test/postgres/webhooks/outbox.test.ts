import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openInstance, type Instance } from "../fixture.ts";

let database: TestDatabase;
let instance: Instance;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
});
afterAll(async () => {
  await instance.close();
  await database.drop();
});

async function addEndpoint(account: string, types: string[], disabled: string | null = null) {
  const id = randomUUID();
  await instance.pool.query(
    `insert into webhook_endpoint (id, account_id, url, types, disabled, key_version, secret)
     values ($1, $2, 'https://hooks.example/', $3, $4, 1, '\\x00')`,
    [id, account, types, disabled],
  );
  return id;
}

async function eventsOf(account: string) {
  const { rows } = await instance.pool.query<{ type: string; data: unknown; endpoints: string[] | null }>(
    `select type, data, (
       select array_agg(endpoint_id::text) from webhook_delivery where event_id = event.id) as endpoints
     from webhook_event event where account_id = $1 order by seq`,
    [account],
  );
  return rows;
}

const add = (account: string, type: string, data: object, once?: string) =>
  instance.pool.query("select event_add($1, $2, $3, $4)", [account, type, data, once]);

it("writes an event once, for each enabled endpoint that wants its type", async () => {
  const account = randomUUID();
  const wanting = await addEndpoint(account, ["budget.exhausted", "balance.low"]);
  await addEndpoint(account, ["session.created"]);
  await addEndpoint(account, ["budget.exhausted"], "");
  await addEndpoint(randomUUID(), ["budget.exhausted"]);
  await add(account, "budget.exhausted", { key_id: "key_1" });
  await add(account, "deposit.credited", {});
  expect(await eventsOf(account)).toEqual([
    { type: "budget.exhausted", data: { key_id: "key_1" }, endpoints: [wanting] },
  ]);
});

it("writes an event with the same once no second time", async () => {
  const account = randomUUID();
  const wanting = await addEndpoint(account, ["key.expiring"]);
  await add(account, "key.expiring", { days: 7 }, "key 7");
  await add(account, "key.expiring", { days: 7 }, "key 7");
  expect(await eventsOf(account)).toEqual([
    { type: "key.expiring", data: { days: 7 }, endpoints: [wanting] },
  ]);
});

it("leaves no event of a transaction that rolled back", async () => {
  const account = randomUUID();
  await addEndpoint(account, ["balance.low"]);
  const client = await instance.pool.connect();
  await client.query("begin");
  await client.query("select event_add($1, 'balance.low', '{}')", [account]);
  await client.query("rollback");
  client.release();
  expect(await eventsOf(account)).toEqual([]);
});

it("waits for no other transaction", async () => {
  const account = randomUUID();
  const endpoint = await addEndpoint(account, ["balance.low"]);
  const client = await instance.pool.connect();
  await client.query("begin");
  await client.query("select event_add($1, 'balance.low', '{}')", [account]);
  await client.query("select from webhook_endpoint where id = $1 for update", [endpoint]);
  await add(account, "balance.low", {});
  await client.query("commit");
  client.release();
  expect(await eventsOf(account)).toHaveLength(2);
});
