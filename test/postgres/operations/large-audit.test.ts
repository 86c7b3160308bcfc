import pg from "pg";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { CHECKS, MOVE_CHECKS } from "../../../src/postgres/operations/audit-checks.ts";
import { auditSince, sealingAudit, sinceSealText } from "../../../src/postgres/operations/audit.ts";
import { SEAL_CHECKS, lastSeal } from "../../../src/postgres/operations/seals.ts";
import { inTransaction, openLedger } from "../fixture.ts";
import { openOrm } from "../../../src/postgres/database/orm.ts";
import { clientFor } from "../../../src/postgres/database/server.ts";
import { fillLedger, sealMonths } from "../large-ledger.ts";

/** Rows of the ledger, about. */
const TRANSFERS = 40_000;

/** A node of a plan, with its expected rows. */
const planNode = z.object({
  "Plan Rows": z.number(),
  get Plans() {
    return z.array(planNode).optional();
  },
});
const explained = z.array(z.object({ "QUERY PLAN": z.tuple([z.object({ Plan: planNode })]) }));

const { database, pool } = await openLedger();
await fillLedger(database.url, TRANSFERS);

describe("audit of a large ledger without statistics", () => {
  it("checks the whole ledger and ends", async () => {
    const { findings: lines } = await auditSince(pool, { whole: true });
    for (const line of lines) {
      expect(line, line.name).toMatchObject({ violations: 0n });
      if (![...SEAL_CHECKS, ...MOVE_CHECKS].some(({ name }) => name === line.name))
        expect(line.checked, line.name).toBeGreaterThan(0n);
    }
    expect(lines.find(({ name }) => name === "entries")?.checked).toBeGreaterThanOrEqual(BigInt(TRANSFERS));
  });

  it("stops in the database when cancelled, and waits only briefly for a lock", async () => {
    // No own timeout, so that nothing else ends it.
    const cancelled = new pg.Pool({ connectionString: database.url, application_name: "cancelled" });
    // The cancelled connection may still be closing when the database is dropped.
    cancelled.on("connect", (client) => client.on("error", () => {}));
    const locker = new pg.Client({ connectionString: database.url });
    await locker.connect();
    await locker.query("begin; lock table transfer in access exclusive mode");
    const underWay = async () => {
      const text =
        "select from pg_stat_activity where application_name = 'cancelled' and wait_event_type = 'Lock'";
      return (await pool.query(text)).rowCount;
    };
    const reason = new Error("caller gone");
    const caller = new AbortController();
    const called = auditSince(cancelled, { signal: caller.signal, whole: true }).catch(
      (error: unknown) => error,
    );
    await expect.poll(underWay).toBe(1);
    caller.abort(reason);
    await expect.poll(underWay).toBe(0);
    expect(await called).toBe(reason);
    expect(await sealingAudit(database.url, database)().catch((error: unknown) => error)).toMatchObject({
      code: "UNAVAILABLE",
    });
    await locker.end();
    await cancelled.end();

    expect(
      await auditSince(pool, { signal: AbortSignal.abort(reason) }).catch((error: unknown) => error),
    ).toBe(reason);
  });
});

describe("a connection", () => {
  // Of an audit it takes sixteen times as long as the statements.
  it("compiles no statements, in pools, the ORM and single clients", async () => {
    const orm = await openOrm(database.url, 1);
    const client = clientFor(database.url);
    await client.connect();
    const text = "select current_setting('jit') as jit";
    const found = [
      (await pool.query(text)).rows,
      (await client.query(text)).rows,
      await orm.em.fork().execute(text),
    ];
    await Promise.all([orm.close(), client.end()]);
    expect(found).toEqual(found.map(() => [{ jit: "off" }]));
  });
});

describe("audit since the last seal of a large ledger", () => {
  // Hash tables are made for as many rows: for billions, they take minutes however few come.
  it("is not planned for more rows than the ledger has", async () => {
    await pool.query("analyze");
    await sealMonths(database.url);
    await inTransaction(pool, async (client) => {
      const seal = await lastSeal(client);
      await client.query("set local enable_nestloop = off; set local enable_seqscan = off");
      const text = `explain (format json) ${sinceSealText(CHECKS)}`;
      const { rows } = await client.query(text, [seal?.upTo, seal?.firstRun]);
      const [plan] = explained.parse(rows);
      expect(mostRows(plan?.["QUERY PLAN"][0].Plan)).toBeLessThan(TRANSFERS);
    });
  });
});

function mostRows(node: z.infer<typeof planNode> | undefined): number {
  return Math.max(node?.["Plan Rows"] ?? 0, ...(node?.Plans ?? []).map(mostRows));
}
