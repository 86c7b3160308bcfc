import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openInstance, type Instance } from "../fixture.ts";
import { addEndpoint, eventsOf } from "./webhook-fixture.ts";

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

const newAccount = () => `acct_${randomUUID().replaceAll("-", "")}`;
const endpoint = (account: string, types: string[], disabled?: string) =>
  addEndpoint(instance.pool, account, types, disabled);
const add = (account: string, type: string, data: object, once?: string) =>
  instance.pool.query("select event_add($1, $2, $3, $4)", [uuidFromId("acct", account), type, data, once]);

it("writes an event once, for each enabled endpoint that wants its type", async () => {
  const account = newAccount();
  const wanting = await endpoint(account, ["budget.exhausted", "balance.low"]);
  await endpoint(account, ["session.created"]);
  await endpoint(account, ["budget.exhausted"], "");
  await endpoint(newAccount(), ["budget.exhausted"]);
  await add(account, "budget.exhausted", { key_id: "key_1" });
  await add(account, "deposit.credited", {});
  expect(await eventsOf(instance.pool, account)).toEqual([
    { type: "budget.exhausted", data: { key_id: "key_1" } },
  ]);
  const { rows } = await instance.pool.query(
    `select endpoint_id from webhook_delivery join webhook_event event on event.id = event_id
     where account_id = $1`,
    [uuidFromId("acct", account)],
  );
  expect(rows).toEqual([{ endpoint_id: wanting }]);
});

it("writes an event with the same once no second time", async () => {
  const account = newAccount();
  await endpoint(account, ["key.expiring"]);
  await add(account, "key.expiring", { days: 7 }, "key 7");
  await add(account, "key.expiring", { days: 7 }, "key 7");
  expect(await eventsOf(instance.pool, account)).toEqual([{ type: "key.expiring", data: { days: 7 } }]);
});

it("leaves no event of a transaction that rolled back", async () => {
  const account = newAccount();
  await endpoint(account, ["balance.low"]);
  const client = await instance.pool.connect();
  await client.query("begin");
  await client.query("select event_add($1, 'balance.low', '{}')", [uuidFromId("acct", account)]);
  await client.query("rollback");
  client.release();
  expect(await eventsOf(instance.pool, account)).toEqual([]);
});

it("waits for no other transaction", async () => {
  const account = newAccount();
  const id = await endpoint(account, ["balance.low"]);
  const client = await instance.pool.connect();
  await client.query("begin");
  await client.query("select event_add($1, 'balance.low', '{}')", [uuidFromId("acct", account)]);
  await client.query("select from webhook_endpoint where id = $1 for update", [id]);
  await add(account, "balance.low", {});
  await client.query("commit");
  client.release();
  expect(await eventsOf(instance.pool, account)).toHaveLength(2);
});
