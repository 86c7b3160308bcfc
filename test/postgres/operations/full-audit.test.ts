import { beforeEach, expect, it } from "vitest";
import type { AuditFinding } from "../../../src/app/operations/audit.ts";
import { CHECKS } from "../../../src/postgres/operations/audit-checks.ts";
import { auditSince, sealingAudit } from "../../../src/postgres/operations/audit.ts";
import { PostgresFullAudit } from "../../../src/postgres/operations/full-audit.ts";
import { addSeal } from "../../../src/postgres/operations/seals.ts";
import { openLedger, PRICE } from "../fixture.ts";
import { ageEntries, tamperWith } from "./sealed-ledger.ts";

const { database, one } = await openLedger();
const leader = () => new PostgresFullAudit(one.pool, { url: database.url });
const never = new AbortController().signal;

/** Runs slices until none is due, or that many. */
async function slices(most = 1_000): Promise<AuditFinding[]> {
  const found: AuditFinding[] = [];
  for (let finding = await leader().next(never); finding; finding = await leader().next(never)) {
    found.push(finding);
    if (found.length === most) break;
  }
  return found;
}

/** Lets every check be due. */
const passWeek = () => one.pool.query("update audit_progress set at = at - interval '8 days'");

const account = await one.account(10n * PRICE);
await one.buy(account);
await ageEntries(one.pool, 120);
for (const minutes of [150, 90]) {
  const { rows } = await one.pool.query("select (now() - $1 * interval '1 minute')::text as at", [minutes]);
  const { content } = await auditSince(one.pool, { upTo: rows[0].at });
  expect(await addSeal(one.pool, content!)).toBe(true);
}

beforeEach(async () => {
  await one.pool.query("delete from audit_progress");
});

it("runs every check once a week, the seals among them", async () => {
  const found = await slices();
  const checks = CHECKS.map(({ name }) => name);
  expect(found.map(({ name }) => name)).toEqual(checks);
  expect(found.filter(({ violations }) => violations > 0n)).toEqual([]);
  const seals = found.find(({ name }) => name === "seals");
  expect(seals).toMatchObject({ checked: expect.toSatisfy((checked) => checked >= 6n) });
  expect(await slices()).toEqual([]);
  await passWeek();
  expect(await slices(1)).toMatchObject([{ name: checks[0] }]);
});

it("continues on another leader, and says when the oldest of its checks ran", async () => {
  expect(await leader().last()).toBeUndefined();
  const first = await slices(5);
  const { at } = (await leader().last())!;
  const rest = await slices();
  expect(new Set([...first, ...rest].map(({ name }) => name)).size).toBe(first.length + rest.length);
  expect((await leader().last())!.at).toEqual(at);
  await passWeek();
  await slices();
  expect((await leader().last())!.at.getTime()).toBeGreaterThan(at.getTime());
});

it("compares seals where the last slice ended, and adds up what slices find", async () => {
  await slices();
  await one.pool.query("update audit_progress set seal = 1, violations = 5 where name = 'seals'");
  // The next one continues it.
  await tamperWith(one.pool, "update audit_seal set hash = sha256('other') where number = 1");
  expect(await slices()).toMatchObject([{ name: "seals", violations: 1n }]);
  expect((await leader().last())?.violations).toMatchObject({ seals: 6 });
  await tamperWith(one.pool, "update audit_seal set hash = audit_chain(null, '{}') where number = 1");
});

it("keeps what it found until the next one finds it no more", async () => {
  await tamperWith(one.pool, "update receipt set tool = 'other'");
  const found = await slices();
  expect(found.filter(({ violations }) => violations > 0n).map(({ name }) => name)).toEqual(["seals"]);
  expect((await leader().last())?.violations).toMatchObject({ balances: 0, seals: 1 });
  await tamperWith(one.pool, "update receipt set tool = 'vram_estimate'");
  await passWeek();
  await slices();
  expect((await leader().last())?.violations).toMatchObject({ balances: 0, seals: 0 });
});

it("is done by an audit of all history at once", async () => {
  await sealingAudit(database.url, database)(undefined, { whole: true });
  expect(await slices()).toEqual([]);
  expect((await leader().last())?.violations).toMatchObject({ balances: 0, seals: 0 });
});
