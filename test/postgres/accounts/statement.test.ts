import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { Entry } from "../../../src/app/accounts/statements.ts";
import type { Usage, UsageQuery } from "../../../src/app/accounts/usage.ts";
import { PostgresStatements } from "../../../src/postgres/accounts/statement.ts";
import { UsageCounter } from "../../../src/postgres/accounts/usage-sql.ts";
import { PostgresUsageReports } from "../../../src/postgres/accounts/usage.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { callOf, completed, expectCleanAudit, makeAccount, PRICE } from "../fixture.ts";
import { describeFiles } from "./statement-files.ts";
import { CALLS, makeStatementWorld, entriesOf, type BookedEntry } from "./statement-fixture.ts";

const database = await openDatabase();
const world = await makeStatementWorld(database.url);
closing(world.treasurer);

const secret = { version: 1, secret: randomBytes(32) };
const keys = { current: () => secret, version: (version: number) => (version === 1 ? secret : undefined) };
const statements = new PostgresStatements(world.treasurer.pool, keys);
const reports = new PostgresUsageReports(world.treasurer.pool);
const today = Math.floor(Date.now() / 86_400_000);
const day = (daysAgo: number) => new Date((today - daysAgo) * 86_400_000);

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
const amountsOf = (entries: readonly BookedEntry[]) => entries.map(({ amount }) => amount);
const charges = (from: Date, to: Date) =>
  world.entries.filter(({ kind, time }) => kind === "charge" && time >= isoOf(from) && time < isoOf(to));
/** With microseconds, like the test's own reading of the ledger. */
const isoOf = (date: Date) => date.toISOString().replace("Z", "000Z");

const spentOn = (entries: readonly BookedEntry[]) => -sum(amountsOf(entries));

/** In order of first appearance. */
function grouped<Key>(
  entries: readonly BookedEntry[],
  keyOf: (entry: BookedEntry) => Key,
): [Key, BookedEntry[]][] {
  const groups = new Map<Key, BookedEntry[]>();
  for (const entry of entries) {
    const group = groups.get(keyOf(entry));
    if (group) group.push(entry);
    else groups.set(keyOf(entry), [entry]);
  }
  return [...groups];
}

async function walk(
  accountId: string,
  limit: number,
  between?: (page: Entry[]) => Promise<void>,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await statements.entries({ accountId, limit, cursor });
    entries.push(...page.items);
    await between?.(page.items);
    if (page.nextCursor === undefined) return entries;
    cursor = page.nextCursor;
  }
}

describe(`an account with ${CALLS} calls`, () => {
  it("passes the audit", async () => {
    expect(world.entries.filter(({ kind }) => kind === "charge").length).toBeGreaterThan(0.8 * CALLS);
    expect(new Set(world.entries.map(({ kind }) => kind))).toEqual(
      new Set(["deposit", "assignment", "charge", "refund", "reversal", "adjustment"]),
    );
    await expectCleanAudit(world.treasurer.pool);
  });

  it("has a balance equal to the sum of its entries less holds", async () => {
    const balance = await statements.balance(world.accountId);
    expect(balance.held).toBeGreaterThan(0n);
    expect(balance.available + balance.held).toBe(sum(amountsOf(world.entries)));
    expect(balance.spentToday).toBe(-sum(amountsOf(charges(day(0), day(-1)))));
    expect(balance.spent30Days).toBe(-sum(amountsOf(charges(day(29), day(-1)))));
    expect(balance).toMatchObject({ lowBalance: undefined, tier: { ratePerMinute: 60, burst: 10 } });
    await statements.setLowBalance(world.accountId, 5n);
    expect(await statements.balance(world.accountId)).toMatchObject({ lowBalance: 5n });
    await statements.setLowBalance(world.accountId, undefined);
    expect(await statements.balance(world.accountId)).toMatchObject({ lowBalance: undefined });
    await expect(statements.balance(`acct_${"0".repeat(32)}`)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("lists all entries, newest first, with the balance after each", async () => {
    const entries = await walk(world.accountId, 100);
    let balance = 0n;
    const expected = world.entries.map(({ id, kind, amount, note }) => {
      balance += amount;
      return { id, kind, amount, balance, note };
    });
    expect(
      entries.map(({ entryId: id, kind, amount, balance, note = null }) => ({
        id,
        kind,
        amount,
        balance,
        note,
      })),
    ).toEqual(expected.toReversed());
    const { available, held } = await statements.balance(world.accountId);
    expect(entries[0]?.balance).toBe(available + held);
    expect(entries.find(({ kind }) => kind === "refund")).toMatchObject({
      tool: expect.any(String),
      receiptId: expect.stringMatching(/^rcpt_/),
      txSignature: undefined,
    });
    expect(entries.find(({ kind }) => kind === "reversal")).toMatchObject({
      receiptId: undefined,
      txSignature: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
    });
  });
});

describe.each([
  ["before it is counted", false],
  ["after it is counted", true],
])("usage, %s", (_, counted) => {
  beforeAll(async () => {
    if (counted) await new UsageCounter(world.treasurer.pool).count(new AbortController().signal);
    const { rows } = await world.treasurer.pool.query("select from usage_slot limit 1");
    expect(rows.length).toBe(counted ? 1 : 0);
  });

  it.each([
    ["by days", false, 41, 0],
    ["by days, until now", false, 41, undefined],
    ["by hours, beyond now", true, 5, -1],
    ["of one tool", false, 30, 0],
    ["of one key", false, 30, 0],
  ])("reports usage %s that adds up to the ledger's charges", async (which, hourly, daysAgo, until) => {
    const tool = which === "of one tool" ? "vram_estimate" : undefined;
    const keyId = which === "of one key" ? world.keyIds[1] : undefined;
    const [from, to] = [day(daysAgo), until === undefined ? undefined : day(until)];
    const usage = await reports.usage({ accountId: world.accountId, from, to, hourly, tool, keyId });
    const end = to ?? new Date(Date.now() + 60_000);
    const runOf = ({ ref }: BookedEntry) => world.runs.get(ref);
    const picked = charges(from, end).filter(
      (charge) =>
        (tool ?? runOf(charge)?.tool) === runOf(charge)?.tool &&
        (keyId ?? runOf(charge)?.keyId) === runOf(charge)?.keyId,
    );
    const failures = [...world.runs.values()].filter(
      (run) =>
        run.status === "failed" &&
        run.time >= isoOf(from) &&
        run.time < isoOf(end) &&
        (tool ?? run.tool) === run.tool &&
        (keyId ?? run.keyId) === run.keyId,
    );
    const total = {
      charged: BigInt(picked.length),
      spent: -sum(amountsOf(picked)),
      failed: BigInt(failures.length),
    };
    expect(picked.length).toBeGreaterThan(100);
    expect(failures.length).toBeGreaterThan(20);
    expect(usage.total).toEqual(total);
    const addedUp = (parts: readonly { usage: Usage }[]) => ({
      charged: sum(parts.map(({ usage }) => usage.charged)),
      spent: sum(parts.map(({ usage }) => usage.spent)),
      failed: sum(parts.map(({ usage }) => usage.failed)),
    });
    for (const parts of [usage.buckets, usage.tools, usage.keys]) expect(addedUp(parts)).toEqual(total);
    expect(usage.failures).toEqual([{ code: "TOOL_FAILED", calls: total.failed }]);
    // Each bucket, tool and key separately, from entries alone.
    const length = hourly ? "2026-01-01T00".length : "2026-01-01".length;
    expect(
      usage.buckets
        .filter(({ usage }) => usage.charged > 0n)
        .map(({ start, usage: { charged, spent } }) => [
          start.toISOString().slice(0, length),
          charged,
          spent,
        ]),
    ).toEqual(
      grouped(picked, ({ time }) => time.slice(0, length)).map(([key, own]) => [
        key,
        BigInt(own.length),
        spentOn(own),
      ]),
    );
    const byTool = new Map(grouped(picked, (charge) => runOf(charge)?.tool));
    expect(usage.tools.map(({ tool, usage }) => [tool, usage.spent])).toEqual(
      usage.tools.map(({ tool }) => [tool, spentOn(byTool.get(tool) ?? [])]),
    );
    const byKey = new Map(grouped(picked, (charge) => runOf(charge)?.keyId ?? undefined));
    expect(usage.keys.map(({ keyId, usage }) => [keyId, usage.spent])).toEqual(
      usage.keys.map(({ keyId }) => [keyId, spentOn(byKey.get(keyId) ?? [])]),
    );
    expect(usage.tools.length).toBe(byTool.size);
    expect(usage.keys.map(({ usage }) => usage.spent)).toEqual(
      usage.keys.map(({ usage }) => usage.spent).sort((a, b) => (a < b ? 1 : -1)),
    );
    // The charges of the oldest calls, which have no key, may come later than those of others.
    const keysOf = new Set([...byKey.keys(), ...failures.map((run) => run.keyId ?? undefined)]);
    expect(new Set(usage.keys.map((key) => key.keyId))).toEqual(keysOf);
    expect(keysOf.size).toBeGreaterThanOrEqual(keyId ? 1 : 3);
  });

  it("reports a day up to midnight with every hour", async () => {
    const edges = world.entries.filter(
      ({ kind, time }) => kind === "charge" && /T(?:23:59:59\.999999|00:00:00\.000000)Z/.test(time),
    );
    expect(edges.length).toBeGreaterThan(40);
    const of = (from: Date, to: Date) =>
      reports.usage({
        accountId: world.accountId,
        from,
        to,
        hourly: true,
        tool: undefined,
        keyId: undefined,
      });
    const [before, after] = [await of(day(10), day(9)), await of(day(9), day(8))];
    expect(before.buckets.map(({ start }) => start.toISOString().slice(11, 16))).toEqual(
      Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`),
    );
    expect(before.total.spent).toBe(-sum(amountsOf(charges(day(10), day(9)))));
    expect(after.total.spent).toBe(-sum(amountsOf(charges(day(9), day(8)))));
    // Starts within an hour, which counts fully; ends within an hour, which is cut.
    const inside = await of(new Date(day(10).getTime() + 5_400_000), new Date(day(10).getTime() + 9_000_000));
    expect(inside.buckets.map(({ start }) => start.toISOString().slice(11, 16))).toEqual(["01:00", "02:00"]);
    const [hour, half] = [new Date(day(10).getTime() + 3_600_000), new Date(day(10).getTime() + 9_000_000)];
    expect(inside.total.spent).toBe(-sum(amountsOf(charges(hour, half))));
  });

  it("reports zero usage in every bucket without calls", async () => {
    const accountId = await world.treasurer.account(PRICE);
    const usage = await reports.usage({
      accountId,
      from: day(365),
      to: day(-1),
      hourly: false,
      tool: undefined,
      keyId: undefined,
    });
    const none = { charged: 0n, spent: 0n, failed: 0n };
    expect(usage).toMatchObject({ tools: [], keys: [], failures: [], total: none });
    expect(usage.buckets.length).toBe(366);
    expect(
      new Set(usage.buckets.map(({ usage }) => JSON.stringify({ ...usage }, (_, v: unknown) => String(v))))
        .size,
    ).toBe(1);
    // Another account's key.
    const foreign = await reports.usage({
      accountId,
      from: day(3),
      to: undefined,
      hourly: false,
      tool: undefined,
      keyId: world.keyIds[0],
    });
    expect(foreign).toMatchObject({ keys: [], total: none });
  });

  it.each<[string, Partial<UsageQuery>, RegExp]>([
    [
      "more than seven days by hours",
      { from: new Date(0), to: new Date(7 * 86_400_000 + 1), hourly: true },
      /^to: at most 7 days by hours/,
    ],
    ["over 366 days", { from: new Date(0), to: new Date(366 * 86_400_000 + 1) }, /^to: at most 366 days/],
    ["more than 366 days until now", { from: new Date(0) }, /^from: at most 366 days/],
    ["an empty span", { from: new Date(5), to: new Date(5) }, /^to: must be after from/],
    ["the future only", { from: new Date(Date.now() + 3_600_000) }, /^from: must be in the past/],
  ])("rejects usage of %s and names the field", async (_, change, message) => {
    const query = {
      accountId: world.accountId,
      from: day(1),
      to: undefined,
      hourly: false,
      tool: undefined,
      keyId: undefined,
    };
    await expect(reports.usage({ ...query, ...change })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: expect.stringMatching(message),
    });
  });

  it("accepts usage of seven days by hours and 366 by days", async () => {
    const query = { accountId: world.accountId, to: day(0), tool: undefined, keyId: undefined };
    expect((await reports.usage({ ...query, from: day(7), hourly: true })).buckets).toHaveLength(168);
    expect((await reports.usage({ ...query, from: day(366), hourly: false })).buckets).toHaveLength(366);
  });

  it.each(["tool", "key", "outcome", "model"] as const)("reports series by %s that add up", async (by) => {
    const query = { accountId: world.accountId, from: day(41), to: day(0), hourly: false };
    const usage = await reports.usage({ ...query, by, tool: undefined, keyId: undefined });
    const values = usage.series.map(({ value }) => value);
    expect(new Set(values)).toEqual(
      new Set(
        {
          tool: usage.tools.map(({ tool }) => tool),
          key: usage.keys.map(({ keyId = "" }) => keyId),
          model: [""],
          outcome: ["", "TOOL_FAILED"],
        }[by],
      ),
    );
    for (const [n, bucket] of usage.buckets.entries()) {
      const parts = usage.series.map(({ usage }) => usage[n] ?? { charged: -1n, spent: 0n, failed: 0n });
      expect(parts.reduce((a, b) => a + b.spent, 0n)).toBe(bucket.usage.spent);
      expect(parts.reduce((a, b) => a + b.failed, 0n)).toBe(bucket.usage.failed);
    }
    const first = usage.series[0];
    expect(first?.usage.reduce((total, { spent }) => total + spent, 0n)).toBeGreaterThan(0n);
  });

  it.each(["Asia/Kathmandu", "America/New_York", "Pacific/Auckland"])(
    "reports usage by the days of %s",
    async (timeZone) => {
      const [from, to] = [day(40), day(0)];
      const query = { accountId: world.accountId, from, to, hourly: false, tool: undefined };
      const usage = await reports.usage({ ...query, timeZone, keyId: undefined });
      const dayOf = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
      const start = usage.buckets[0]?.start ?? from;
      expect(start.getTime()).toBeLessThanOrEqual(from.getTime());
      expect(
        usage.buckets
          .filter(({ usage }) => usage.charged > 0n)
          .map(({ start, usage: { spent } }) => [dayOf.format(start), spent]),
      ).toEqual(
        grouped(charges(start, to), ({ time }) => dayOf.format(new Date(time))).map(([key, own]) => [
          key,
          spentOn(own),
        ]),
      );
    },
  );

  it("keeps eight series and adds up all others", async () => {
    const query = { accountId: world.accountId, from: day(41), to: undefined, hourly: false };
    const many = { ...query, tool: undefined, keyId: undefined, by: "tool" as const };
    const pool = world.treasurer.pool;
    const accountId = await makeAccount(pool, 100n * PRICE);
    for (let n = 0; n < 12; n++) {
      await world.treasurer.buy(accountId, { tool: `tool_${n}`, price: BigInt(100 + n) });
    }
    const { series, total } = await reports.usage({ ...many, accountId });
    expect(series.map(({ value }) => value)).toEqual([
      ...Array.from({ length: 8 }, (_, n) => `tool_${11 - n}`),
      undefined,
    ]);
    expect(series[8]?.usage.at(-1)).toEqual({ charged: 4n, spent: 100n + 101n + 102n + 103n, failed: 0n });
    expect(total.charged).toBe(12n);
  });

  it("refuses an unknown time zone", async () => {
    const query = { accountId: world.accountId, from: day(1), to: undefined, hourly: true };
    await expect(
      reports.usage({ ...query, tool: undefined, keyId: undefined, timeZone: "Mars/Olympus" }),
    ).rejects.toMatchObject({ code: "INVALID_REQUEST", message: expect.stringMatching(/^time_zone: /) });
  });
});

describe("an entries cursor", () => {
  it("is valid for its own account only, unchanged", async () => {
    const { nextCursor = "" } = await statements.entries({
      accountId: world.accountId,
      limit: 5,
      cursor: undefined,
    });
    expect(nextCursor.length).toBeLessThanOrEqual(200);
    const other = await world.treasurer.account(PRICE);
    const bytes = Buffer.from(nextCursor, "base64url");
    const forged = Array.from({ length: bytes.length }, (_, at) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy.toString("base64url");
    });
    const refused = { code: "INVALID_REQUEST", message: expect.stringMatching(/^cursor: /) };
    for (const cursor of ["", "x", `${nextCursor}=`, `${nextCursor}AA`, ...forged]) {
      await expect(
        statements.entries({ accountId: world.accountId, limit: 5, cursor }),
      ).rejects.toMatchObject(refused);
    }
    await expect(
      statements.entries({ accountId: other, limit: 5, cursor: nextCursor }),
    ).rejects.toMatchObject(refused);
  });
});

describeFiles(() => ({ world, statements, day }));

// Last, as it keeps charging the account.
describe("entries during new charges", () => {
  const charge = async (accountId: string) => {
    await world.treasurer.buy(accountId);
  };
  const balances = (entries: readonly Entry[]) =>
    new Map(entries.map(({ entryId, balance }) => [entryId, balance]));
  /** The balance after each entry by the ledger's current state. */
  const booked = async (accountId: string) => {
    let balance = 0n;
    const entries = await entriesOf(world.treasurer.pool, accountId);
    return new Map(entries.map(({ id, amount }) => [id, (balance += amount)]));
  };

  it.each(["an old account", "a new account"])(
    "agree over pages of %s with the ledger, also when a lower id commits late",
    async (which) => {
      const { pool, ledger, instanceId } = world.treasurer;
      const accountId =
        which === "an old account" ? world.accountId : await makeAccount(pool, 1_000n * PRICE);
      for (let n = 0; n < 3; n++) await charge(accountId);
      const lateCall = callOf(accountId);
      await ledger.authorize(lateCall);
      const late = await pool.connect();
      await late.query("begin");
      const { runId, receiptId } = completed(lateCall);
      await late.query(
        `select * from ledger_end(array[row(1, $1, 'completed', $2, null, null, null)::ledger_ending],
          array['{}'], $3)`,
        [runId.slice(4), receiptId.slice(5), instanceId],
      );
      for (let n = 0; n < 4; n++) await charge(accountId);
      const first = await statements.entries({ accountId, limit: 2, cursor: undefined });
      expect(balances(first.items)).toEqual(new Map([...(await booked(accountId))].slice(-2).toReversed()));
      await late.query("commit");
      late.release();
      // It sorts before both shown and remaining entries, so every later page counts it.
      const second = await statements.entries({ accountId, limit: 2, cursor: first.nextCursor });
      expect(balances(second.items)).toEqual(
        new Map([...(await booked(accountId))].slice(-4, -2).toReversed()),
      );
      const third = await statements.entries({ accountId, limit: 3, cursor: second.nextCursor });
      expect(balances(third.items)).toEqual(
        new Map([...(await booked(accountId))].slice(-7, -4).toReversed()),
      );
      // Its own identifier except for the time (first eight bytes), which is the ledger's.
      expect(third.items[0]?.receiptId?.slice(21)).toBe(receiptId.slice(21));
      const whole = await walk(accountId, 100);
      expect(balances(whole)).toEqual(new Map([...(await booked(accountId))].toReversed()));
    },
  );

  it("add up on each page, and end at the first entry", async () => {
    const accountId = await world.treasurer.account(10_000n * PRICE);
    const walked = new AbortController();
    const charging = Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let n = 0; n < 100 && !walked.signal.aborted; n++) await charge(accountId);
      }),
    );
    try {
      await expect.poll(async () => (await booked(accountId)).size).toBeGreaterThan(20);
      for (let n = 0; n < 5; n++) {
        const entries = await walk(accountId, 7, async (page) => {
          for (const [at, { balance, amount }] of page.entries()) {
            const older = page[at + 1];
            if (older) expect(balance - amount).toBe(older.balance);
          }
        });
        expect(entries.at(-1)).toMatchObject({ kind: "adjustment", balance: 10_000n * PRICE });
      }
    } finally {
      walked.abort();
      await charging;
    }
    expect(balances(await walk(accountId, 50))).toEqual(new Map([...(await booked(accountId))].toReversed()));
  });
});
