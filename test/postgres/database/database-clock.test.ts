import { expect, it } from "vitest";
import type { Pool } from "pg";
import { DatabaseClock, reportedClock } from "../../../src/postgres/database/database-clock.ts";
import { checkDatabase } from "../../../src/postgres/database/start-checks.ts";
import { openLedger, silent } from "../fixture.ts";

const { database, pool } = await openLedger();

const clockAt = (aheadMs: () => number) => ({ now: () => Date.now() + aheadMs() });

it("has the database's time, also after a long answer, and follows no small difference", async () => {
  let aheadMs = 600_000;
  const clock = new DatabaseClock(clockAt(() => aheadMs));
  for (aheadMs of [600_000, -600_000, 0]) {
    const sentAt = performance.now();
    await clock.measure(pool);
    const took = Math.ceil(performance.now() - sentAt) + 2;
    expect(Math.abs(clock.aheadMs - aheadMs)).toBeLessThanOrEqual(took);
    const before = Date.now();
    const now = clock.now();
    expect(now).toBeGreaterThanOrEqual(before - took - 1_000);
    expect(now).toBeLessThanOrEqual(Date.now() + took + 1_000);
  }
  let time = 0;
  const slow = new DatabaseClock({ now: () => (time += 5_000) });
  await slow.measure(
    Object.assign(Object.create(pool) as Pool, { query: async () => ({ rows: [{ now: 6_000 }] }) }),
  );
  expect(slow.aheadMs).toBe(0);
  aheadMs = 900;
  const near = new DatabaseClock(clockAt(() => aheadMs));
  await near.measure(pool);
  const local = Date.now() + aheadMs;
  expect(near.now()).toBeGreaterThanOrEqual(local);
});

it("reports a difference from 5 s, and its end, once", async () => {
  let aheadMs = 0;
  const lines: unknown[] = [];
  const write = (fields: object) => void lines.push(fields);
  const measure = reportedClock(
    new DatabaseClock(clockAt(() => aheadMs)),
    { ...silent, warn: write, info: write },
    undefined,
  );
  for (aheadMs of [0, -6_000, -6_000, 4_000, 4_000]) await measure(pool);
  expect(lines).toMatchObject([{ event: "clock_wrong" }, { event: "clock_right" }]);
});

it("is checked by doctor: a warning from 5 s, a problem from 30 s", async () => {
  const found = async (aheadMs: number) => {
    const { problems, warnings } = await checkDatabase(
      database.url,
      clockAt(() => aheadMs),
    );
    const ofClock = (texts: readonly string[]) => texts.filter((text) => text.includes("NTP")).length;
    return [ofClock(problems), ofClock(warnings)];
  };
  expect([await found(0), await found(8_000), await found(-8_000), await found(60_000)]).toEqual([
    [0, 0],
    [0, 1],
    [0, 1],
    [1, 0],
  ]);
});
