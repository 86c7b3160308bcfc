import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { checkDatabase } from "../../src/postgres/database/start-checks.ts";
import { PRICE, setScene, soon, type Scene, type Watching } from "../crediting/fixture.ts";
import { callAt } from "../instances/calls.ts";
import { Instances } from "../instances/process.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { until } from "../support/until.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { systemClock } from "../../src/system.ts";
import { runToolgate, runToolgateHere } from "./toolgate.ts";

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-restore-"));
const OPERATOR_LOG = path.join(folder, "operators.jsonl");
const REQUEST_LOG = path.join(folder, "requests.log");

let scene: Scene;
let gateway: Watching;
const instances = new Instances();
let agent: Agent;
/** The restored database, and as the serving role. */
let restored: string;
const name = `restored_${process.pid}_${Date.now()}`;

const toolgate = (url: string, ...args: string[]) =>
  runToolgateHere({ ...scene.settings, DATABASE_URL: url, OPERATOR_LOG }, [...args, "--json"]);
const afterRestore = (...args: string[]) => toolgate(restored, "after-restore", ...args);
const balanceOf = async (url: string, { accountId } = agent) => {
  const { rows } = await query(url, `select available from account where id = '${uuid(accountId)}'`);
  return rows[0]?.available as string;
};
const uuid = (id: string) => id.slice(id.indexOf("_") + 1);

/** A backup of the moment. PostgreSQL copies a database only without connections to it. */
async function backUp(): Promise<string> {
  const server = inject("postgresUrl");
  const source = new URL(scene.database.url).pathname.slice(1);
  await until(async () => {
    await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${source}'`);
    await query(server, `create database ${name} template ${source}`);
    return true;
  });
  return databaseUrl(server, name);
}

beforeAll(async () => {
  scene = await setScene();
  gateway = await scene.start({ OPERATOR_LOG });
  agent = await scene.agent();
});
/** Buys a call with a payment that is not final yet. @returns its signature */
async function buyWithProof(payer: Agent): Promise<string> {
  const quote = await gateway.quote(payer);
  const tx = await scene.pay(payer, PRICE, memoOf(quote));
  expect((await gateway.buy(payer, xPayment(tx, quote.quote_id))).status).toBe(200);
  return tx;
}

/** Pays, and backs the database up. @returns another quote, and payments that are not final in the backup */
async function payAndBackUp(customers: readonly Agent[]) {
  const [first, other] = [await gateway.quote(agent), await gateway.quote(agent)];
  await scene.pay(agent, 2n * PRICE, memoOf(first));
  scene.finalize();
  await expect.poll(() => balanceOf(scene.database.url), soon).toBe(String(2n * PRICE));
  const proved = await Promise.all(customers.map(buyWithProof));
  await gateway.close();
  restored = await backUp();
  gateway = await scene.start({ OPERATOR_LOG });
  return { quote: other, proved };
}
afterAll(async () => {
  await instances.close();
  await scene.close();
  await query(inject("postgresUrl"), `drop database if exists ${name} with (force)`);
  rmSync(folder, { recursive: true });
});

it("a gateway refuses a restored database until after-restore reconciled it", async () => {
  const customers = [await scene.agent(), await scene.agent()];
  const { quote, proved } = await payAndBackUp(customers);
  const [kept = "", vanished = ""] = proved;
  expect(scene.chain.chain.drop(vanished)).toBe(true);
  scene.chain.chain.advance(650);
  // After the backup: a payment, a charge, a refused payer, a revoked key and an adjustment.
  const tx = await scene.pay(agent, 700n, memoOf(quote));
  const nameless = await scene.pay(agent, 55n, "lunch");
  scene.finalize();
  await expect.poll(() => balanceOf(scene.database.url), soon).toBe(String(2n * PRICE + 700n));
  const bought = await gateway.buy(agent);
  expect(bought.status).toBe(200);
  const { url } = scene.database;
  expect((await toolgate(url, "keys", "revoke", "--key", agent.keyId)).code).toBe(0);
  const adjust = ["accounts", "adjust", "--account", agent.accountId, "--usdc", "5.00", "--reason", "gift"];
  expect((await toolgate(url, ...adjust)).code).toBe(0);
  await gateway.close();
  writeFileSync(REQUEST_LOG, `${gateway.log.map((line) => JSON.stringify(line)).join("\n")}\n`);

  expect((await checkDatabase(restored, systemClock)).problems).toEqual([]);
  // A dump brings the name of the cluster that it was taken from; newer ones also that of the database.
  await query(restored, "update schema_version set cluster = 'another'");
  const elsewhere = expect.stringMatching(/^it was restored from a backup \(cluster \d+\), /);
  expect((await checkDatabase(restored, systemClock)).problems).toEqual([elsewhere]);
  await query(restored, "update schema_version set cluster = (pg_control_system()).system_identifier");
  await query(restored, `alter database ${name} set toolgate.restored = 'Tuesday'`);
  const serving = Object.assign(new URL(scene.database.servingUrl), { pathname: `/${name}` }).href;
  const refused = expect.stringMatching(/^it was restored from a backup \(Tuesday\), .*after-restore/);
  expect((await checkDatabase(serving, systemClock)).problems).toEqual([refused]);

  const logs = ["--operator-log", OPERATOR_LOG, `${OPERATOR_LOG}.missing`, "--request-log", REQUEST_LOG];
  const { code, rows, stderr } = await afterRestore(...logs);
  const unknown = `${OPERATOR_LOG}.missing does not exist: nothing is known from it.\n`;
  expect([code, stderr]).toEqual([0, unknown]);
  const found = rows.map(({ finding, id, account_id: account, amount_usdc: amount }) => [
    ...[finding, id, account, amount],
  ]);
  const { accountId, keyId } = agent;
  expect(found).toEqual([
    ["key revoked", keyId, accountId, null],
    ["action gone", expect.stringMatching(/^act_/), null, null],
    ["action gone", expect.stringMatching(/^act_/), null, null],
    ["charge gone", bought.body.receipt.receipt_id, accountId, null],
    ["finalized", kept, null, "0.001000"],
    ["credited", tx, accountId, "0.000700"],
    ["suspended", nameless, null, "0.000055"],
  ]);
  expect(rows[2]).toMatchObject({ details: expect.stringMatching(/^account.adjust acct_\w+ .*"5000000"/) });
  expect((await checkDatabase(serving, systemClock)).problems).toEqual([]);
  expect(await balanceOf(restored)).toBe(String(2n * PRICE + 700n));
  // Payments that were credited before are final, or reversed: nothing is credited twice.
  const balances = customers.map((customer) => balanceOf(restored, customer));
  expect(await Promise.all(balances)).toEqual(["0", String(-PRICE)]);
  expect((await toolgate(restored, "audit", "--chain")).code).toBe(0);

  // Again it finds the lost charge and action only, and credits nothing.
  expect((await afterRestore(...logs)).rows.map(({ finding }) => finding)).toEqual([
    ...["action gone", "action gone", "charge gone"],
  ]);
  expect(await balanceOf(restored)).toBe(String(2n * PRICE + 700n));
});

it("another restore needs another after-restore, and chain and ledger that agree", async () => {
  await query(restored, `alter database ${name} set toolgate.restored = 'Wednesday'`);
  const problem = [expect.stringContaining("(Wednesday)")];
  expect((await checkDatabase(restored, systemClock)).problems).toEqual(problem);
  await query(restored, "update treasury_watch set expected = expected - 1");
  const { code, stderr } = await afterRestore();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^The treasury holds 0.000001 USDC more than/)]);
  expect((await checkDatabase(restored, systemClock)).problems).toEqual(problem);
  expect((await afterRestore("--accept-difference")).code).toBe(0);
  await query(restored, "update treasury_watch set expected = expected + 1");
  expect((await checkDatabase(restored, systemClock)).problems).toEqual([]);
});

it("refuses while a gateway runs on the database", async () => {
  const running = await scene.start({ DATABASE_URL: restored });
  await expect.poll(() => running.figure("toolgate_keeper_leading"), soon).toBe(1);
  const { code, stderr } = await afterRestore();
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^A gateway runs on this database: stop/)]);
  await running.close();
});

it("a running gateway refuses a database that was restored meanwhile, until its restart", async () => {
  const serve = () => instances.serve({ ...scene.settings, DATABASE_URL: restored });
  const running = await serve();
  const ready = async ({ baseUrl } = running) => (await fetch(`${baseUrl}/readyz`)).status;
  // As a restore does, it ends every connection before the first new one.
  const replace = async (mark: string, of = running) => {
    const server = inject("postgresUrl");
    await query(server, `alter database ${name} set toolgate.restored = '${mark}'`);
    await query(server, `alter database ${name} allow_connections false`);
    await query(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    await expect.poll(() => ready(of), soon).toBe(503);
    await query(server, `alter database ${name} allow_connections true`);
  };
  await expect.poll(() => ready(), soon).toBe(200);
  await replace("Wednesday");
  await expect.poll(() => ready(), soon).toBe(200);
  await replace("Thursday");
  await expect.poll(() => ready(), soon).toBe(503);
  expect((await callAt(running, agent)).status).toBe(503);
  const settings = { ...scene.settings, DATABASE_URL: restored };
  const { code, stderr } = await runToolgate(settings, ["after-restore"]);
  expect([code, stderr]).toEqual([0, "serve starts again; restart gateways that still run.\n"]);
  const servesAgain = expect.poll(() => ready(), { timeout: 2_000 }).toBe(200);
  await expect(servesAgain).rejects.toThrow();
  running.signal("SIGKILL");
  await running.ended;
  const restarted = await serve();
  await replace("Thursday", restarted);
  await expect.poll(() => ready(restarted), soon).toBe(200);
  restarted.signal("SIGTERM");
  expect(await restarted.ended).toBe(0);
});

it("revokes every key of a window", async () => {
  const { rows } = await toolgate(restored, "keys", "create", "--account", agent.accountId);
  const created = rows[0]?.["key_id"];
  const since = async (time: string) => {
    const { code, rows: found, stderr } = await afterRestore("--revoke-keys-since", time);
    expect([code, stderr]).toEqual([0, ""]);
    return found.map(({ finding, id }) => [finding, id]);
  };
  expect(await since(new Date().toISOString())).toEqual([]);
  expect(await since("2026-01-01")).toContainEqual(["key revoked", created]);
  const future = await afterRestore("--revoke-keys-since", "2h");
  expect([future.code, future.stderr]).toEqual([2, expect.stringMatching(/must be a timestamp in the past/)]);
});

it("names a file that it cannot read", async () => {
  const { code, stderr } = await afterRestore("--request-log", `${REQUEST_LOG}.missing`);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^Cannot read .*ENOENT/)]);
});

it("the operator log holds no API key", () => {
  expect(readFileSync(OPERATOR_LOG, "utf8")).not.toMatch(/sk-agent-\w{4}/);
});
