import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase, closing } from "../support/postgres.ts";
import { openInstance, PRICE } from "../postgres/fixture.ts";
import { ageEntries, tamperWith } from "../postgres/operations/sealed-ledger.ts";
import { runToolgateHere } from "./toolgate.ts";

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-audit-log-"));
afterAll(() => rmSync(folder, { recursive: true }));
const OPERATOR_LOG = path.join(folder, "operators.jsonl");

const database = await openDatabase();
const instance = closing(openInstance(database.url));
let account: string;

const toolgate = (...args: string[]) =>
  runToolgateHere({ DATABASE_URL: database.url, OPERATOR_LOG }, [...args, "--json"]);

/** Invariants of the log that an audit finds violated, with what it says of them. */
async function violated(...files: string[]) {
  const { rows } = await toolgate("audit", "--full", "--log", ...(files.length > 0 ? files : [OPERATOR_LOG]));
  const found = rows.filter(({ violations }) => violations !== 0);
  return Object.fromEntries(found.map(({ invariant, description }) => [invariant, description]));
}

function file(name: string, content: string | Buffer): string {
  const at = path.join(folder, name);
  writeFileSync(at, content);
  return at;
}

/** Buys a call that the next audit seals. */
async function buySealed(): Promise<void> {
  await instance.buy(account, { idempotencyKey: `key ${Math.random()}` });
  await ageEntries(instance.pool, 30);
  expect(await toolgate("audit")).toMatchObject({ code: 0, stderr: "" });
}

beforeAll(async () => {
  account = await instance.account();
  const { code } = await toolgate(
    ...["accounts", "adjust", "--account", account, "--usdc", "1.00", "--reason", "start"],
  );
  expect(code).toBe(0);
  await ageEntries(instance.pool, 120);
  expect(await toolgate("audit")).toMatchObject({ code: 0, stderr: "" });
  await tamperWith(
    instance.pool,
    `update audit_seal set up_to = up_to - interval '1 hour';
     update revenue_mark set counted_to = '00000000-0000-0000-0000-000000000000', amount = 0`,
  );
  await buySealed();
});

describe("the operator log", () => {
  it("has a line of each seal, and is what the database says", async () => {
    const lines = readFileSync(OPERATOR_LOG, "utf8").trim().split("\n");
    const seals = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "audit_seal");
    const { rows } = await instance.pool.query(
      "select number, encode(hash, 'hex') as hash from audit_seal order by number",
    );
    expect(seals).toMatchObject(rows);
    expect(seals).toHaveLength(2);
    expect(await violated()).toEqual({});
  });
});

describe("after a superuser changed the database, audit --full --log finds", () => {
  let saved: string;
  beforeAll(() => {
    saved = readFileSync(OPERATOR_LOG, "utf8");
  });

  it("an entry that was changed with its seal made again", async () => {
    await tamperWith(
      instance.pool,
      `update receipt set tool = 'echo' where id = (select id from receipt order by id desc limit 1);
       delete from audit_part where number > 1; delete from audit_seal where number > 1;
       delete from audit_sum; update revenue_mark set counted_to = audit_bound(null), amount = 0;
       insert into audit_sum select * from audit_sums(null, (select up_to from audit_seal))`,
    );
    expect(await toolgate("audit")).toMatchObject({ code: 0, stderr: "" });
    const log = file("saved.jsonl", saved);
    expect(await violated(log)).toEqual({
      logged_seals: expect.stringMatching(/; seal 2, of entries from 20.* to 20.*, has another hash/),
    });
    // The log that has both lines counts the first.
    expect(await violated()).toHaveProperty("logged_seals");
  });

  it("an operator's action and a charge that were deleted with all that they caused", async () => {
    const { receiptId } = await instance.buy(account);
    const request = JSON.stringify({ event: "request", receipt_id: receiptId, time: new Date() });
    const gateway = file("gateway.log", `not JSON\n${request}\n`);
    expect(await violated(OPERATOR_LOG, gateway)).not.toHaveProperty("logged_charges");
    await tamperWith(
      instance.pool,
      `delete from run where id = (select run_id from receipt order by id desc limit 1);
       delete from receipt where id = (select id from receipt order by id desc limit 1);
       update account set available = available + ${PRICE};
       delete from operator_action`,
    );
    const found = await violated(OPERATOR_LOG, gateway);
    expect(found["logged_charges"]).toContain(`not ${receiptId}`);
    expect(found["logged_actions"]).toMatch(/; not act_\w+$/);
  });
});

describe("audit --full --log refuses", () => {
  it.each([
    ["a missing file", () => path.join(folder, "none"), /^Cannot read .*none .*ENOENT/],
    ["a folder", () => folder, /^Cannot read .*EISDIR/],
    ["an empty file", () => file("empty", ""), /^No seal is in .*empty: .*rotated ones too/],
    ["a file of other lines", () => file("other", '{"event":"request"}\ntext\n'), /^No seal is in /],
    ["a compressed file", () => file("log.gz", gzipSync("{}")), /log.gz is compressed: decompress it first/],
  ])("%s, and says so", async (_, made, message) => {
    const { code, stderr } = await toolgate("audit", "--full", "--log", made());
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  });

  it("to compare without --full", async () => {
    const { code, stderr } = await toolgate("audit", "--log", OPERATOR_LOG);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--log needs --full")]);
  });
});
