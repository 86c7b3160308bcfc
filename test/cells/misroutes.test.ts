import { randomUUID } from "node:crypto";
import { afterAll, expect, it } from "vitest";
import { parseApiKey } from "../../src/domain/accounts/api-key.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { cellOf, cellOfId } from "../../src/domain/core/ids.ts";
import type { Gateway } from "../../src/gateway.ts";
import { openPostgres, type Postgres } from "../../src/postgres/index.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { query } from "../support/database-server.ts";
import { memoOf, request, startWorld, xPayment, type Agent } from "../support/world.ts";

/**
 * Two cells with the same database, as after a restore of one's backup in the other: their keys, quotes and
 * sessions differ by nothing but the number of the cell.
 */
const warnings: object[] = [];
const log = { info: () => {}, error: () => {}, warn: (details: object) => void warnings.push(details) };
const two = await startWorld({ CELL: "2", METRICS_PORT: "0" }, undefined, log);
const agent = await two.agent({ balance: 100_000n });
// It reads keys when it starts.
const three = await two.startAnother({ CELL: "3" });
afterAll(async () => {
  expect(await two.violations()).toEqual([]);
  await two.close();
});

const buying = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
const buy = (gateway: Pick<Gateway, "baseUrl">, as: Agent, headers = {}) =>
  request(gateway, as, "/v1/mcp/tools/call", { method: "POST", body: JSON.stringify(buying) }, headers);

it("names its cell in accounts, keys, runs and receipts", async () => {
  const { body, status } = await buy(two.gateway, agent);
  expect(status).toBe(200);
  const [row] = (await query(two.database.url, "select id, run_id from receipt order by id desc limit 1"))
    .rows;
  const idOf = (prefix: string, uuid: unknown) => `${prefix}_${String(uuid).replaceAll("-", "")}`;
  expect(parseApiKey(agent.apiKey)?.cell).toBe(2);
  expect(cellOfId("acct", agent.accountId)).toBe(2);
  expect(cellOfId("key", agent.keyId)).toBe(2);
  expect(cellOfId("rcpt", body.receipt.receipt_id)).toBe(2);
  expect(cellOfId("run", idOf("run", row?.run_id))).toBe(2);
});

it("refuses the key of another cell, and logs which", async () => {
  warnings.length = 0;
  const before = await two.postgres.ledger.balance(agent.accountId);
  const { status, body } = await buy(three, agent);
  expect({ status, code: body.code }).toEqual({ status: 401, code: "UNAUTHORIZED" });
  expect(await two.postgres.ledger.balance(agent.accountId)).toBe(before);
  expect(warnings).toContainEqual({ name: "api_key", cell: 2, own_cell: 3 });
});

it("refuses a payment of another cell's quote, which its own cell then takes", async () => {
  const payer = await two.agent();
  // Made before the deployments became cells: both accept it.
  const old = await openDatabase(0);
  const { secret } = await old.apiKeys.create({
    accountId: payer.accountId,
    name: "old",
    scopes: DEFAULT_SCOPES,
  });
  await old.close();
  const everywhere = { ...payer, apiKey: secret };
  const offered = await buy(two.gateway, everywhere);
  expect(offered.status).toBe(402);
  const tx = await two.pay(payer, 100_000n, memoOf(offered.body.quote));
  const proof = xPayment(tx, offered.body.quote.quote_id);
  warnings.length = 0;
  const misrouted = await buy(three, everywhere, proof);
  expect(misrouted.body.code).toBe("INVALID_PAYMENT");
  expect(misrouted.body.quote).toBeUndefined();
  expect(warnings).toContainEqual({ name: "quote", cell: 2, own_cell: 3 });
  const bought = await buy(two.gateway, everywhere, proof);
  expect(bought.status).toBe(200);
  expect(bought.body.receipt.paid_by).toBe("transfer");
  // Names another cell in a database that has its receipt: readable, as after a move.
  const read = await request(three, everywhere, `/receipts/${bought.body.receipt.receipt_id}`, {
    method: "GET",
  });
  expect(read.status).toBe(200);
});

it("ends no session of its own and accepts none of another cell", async () => {
  const [here, there, none] = await Promise.all([openDatabase(2), openDatabase(3), openDatabase(0)]);
  const start = { accountId: agent.accountId, address: "127.0.0.1", userAgent: "" };
  const { token } = await here.sessions.create(start);
  const { token: old } = await none.sessions.create(start);
  expect(token).toMatch(/^2\./);
  expect(old).not.toContain(".");
  expect(await here.sessions.find(token)).toBeDefined();
  expect(await there.sessions.find(token)).toBeUndefined();
  expect(await there.sessions.find(old)).toBeDefined();
  for (const each of [here, there, none]) await each.close();
});

function openDatabase(cell: number): Promise<Postgres> {
  return openPostgres({
    url: two.database.url,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: 15_000,
    poolSize: 2,
    cell: cellOf(cell),
    log,
  });
}
