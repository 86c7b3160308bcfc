import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll } from "vitest";
import { ArchiveMonths } from "../../../src/app/operations/archive/archive-months.ts";
import { openArchive } from "../../../src/archive/open-archive.ts";
import { UsageCounter } from "../../../src/postgres/accounts/usage-sql.ts";
import { PostgresMonths } from "../../../src/postgres/archive/months.ts";
import { sealingAudit } from "../../../src/postgres/operations/audit.ts";
import { systemClock } from "../../../src/system.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { openInstance, PRICE } from "../fixture.ts";
import { attachOldMonth, buyOldCalls, dateEntriesBack, failOldCall } from "./old-calls.ts";

export const [MAY, JUNE] = ["2026-05", "2026-06"];

/** A database with calls of two old months, all sealed, and an empty archive; closed after the file. */
export async function openArchiveWorld() {
  const database = await openDatabase();
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-archive-"));
  afterAll(() => rm(folder, { recursive: true }));
  const instance = closing(openInstance(database.url));
  const archive = await openArchive({ ARCHIVE_URL: pathToFileURL(folder).href, AWS_REGION: "us-east-1" });
  if (!archive) throw new Error("no archive");
  const store = closing(new PostgresMonths(database.url));
  const months = new ArchiveMonths({ archive, store, clock: systemClock, keptMonths: 2 });
  const accounts = [await instance.account(100n * PRICE), await instance.account(100n * PRICE)] as const;
  for (const month of [MAY, JUNE]) await attachOldMonth(instance, month);
  // In the order of their times, as balances change.
  const bought = [
    ...(await buyOldCalls(instance, accounts[0], { month: MAY, count: 5 })),
    ...(await buyOldCalls(instance, accounts[1], { month: MAY, count: 2 })),
  ];
  const failedRun = await failOldCall(instance, accounts[0], MAY);
  bought.push(...(await buyOldCalls(instance, accounts[0], { month: JUNE, count: 3 })));
  await dateEntriesBack(instance);
  /** Counts usage and seals what is older than a minute. Returns the names of violated invariants. */
  const audit = async (whole = false) => {
    await new UsageCounter(instance.pool).count(AbortSignal.timeout(60_000));
    const findings = await sealingAudit(database.url, database)(undefined, { whole });
    return findings.filter(({ violations }) => violations > 0n).map(({ name }) => name);
  };
  return { database, instance, folder, archive, store, months, accounts, bought, failedRun, audit };
}
