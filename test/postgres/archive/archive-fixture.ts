import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ArchiveMonths } from "../../../src/app/operations/archive/archive-months.ts";
import type { MonthArchive } from "../../../src/app/operations/archive/month-archive.ts";
import { openArchive } from "../../../src/archive/open-archive.ts";
import { UsageCounter } from "../../../src/postgres/accounts/usage-counter.ts";
import { PostgresMonths } from "../../../src/postgres/archive/months.ts";
import { auditAndSeal } from "../../../src/postgres/operations/audit-database.ts";
import { systemClock } from "../../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { makeAccount, openInstance, PRICE, type Instance } from "../fixture.ts";
import { attachOldMonth, buyOldCalls, dateEntriesBack, failOldCall } from "./old-calls.ts";

export const [MAY, JUNE] = ["2026-05", "2026-06"];

/** A database with calls of two old months, all sealed, and an empty archive. */
export interface ArchiveWorld {
  readonly database: TestDatabase;
  readonly instance: Instance;
  readonly folder: string;
  readonly archive: MonthArchive;
  readonly store: PostgresMonths;
  readonly months: ArchiveMonths;
  readonly accounts: readonly [string, string];
  readonly bought: readonly { runId: string; receiptId: string }[];
  readonly failedRun: string;
  /** Counts usage and seals what is older than a minute. Returns the names of violated invariants. */
  audit(whole?: boolean): Promise<string[]>;
  close(): Promise<void>;
}

export async function openArchiveWorld(): Promise<ArchiveWorld> {
  const [database, folder] = await Promise.all([
    createTestDatabase(),
    mkdtemp(path.join(os.tmpdir(), "toolgate-archive-")),
  ]);
  const instance = openInstance(database.url);
  const archive = await openArchive({ ARCHIVE_URL: pathToFileURL(folder).href, AWS_REGION: "us-east-1" });
  if (!archive) throw new Error("no archive");
  const store = new PostgresMonths(database.url);
  const months = new ArchiveMonths({ archive, store, clock: systemClock, keptMonths: 2 });
  const accounts = [
    await makeAccount(instance.pool, 100n * PRICE),
    await makeAccount(instance.pool, 100n * PRICE),
  ] as const;
  for (const month of [MAY, JUNE]) await attachOldMonth(instance, month);
  const bought = [
    ...(await buyOldCalls(instance, accounts[0], { month: MAY, count: 5 })),
    ...(await buyOldCalls(instance, accounts[1], { month: MAY, count: 2 })),
    ...(await buyOldCalls(instance, accounts[0], { month: JUNE, count: 3 })),
  ];
  const failedRun = await failOldCall(instance, accounts[0], MAY);
  await dateEntriesBack(instance);
  const audit = async (whole = false) => {
    await new UsageCounter(instance.pool).count(AbortSignal.timeout(60_000));
    const urls = { url: database.url, readUrl: database.url };
    const findings = await auditAndSeal(urls, { whole });
    return findings.filter(({ violations }) => violations > 0n).map(({ name }) => name);
  };
  return {
    ...{ database, instance, folder, archive, store, months, accounts, bought, failedRun, audit },
    close: async () => {
      await Promise.all([store.close(), instance.close()]);
      await Promise.all([database.drop(), rm(folder, { recursive: true })]);
    },
  };
}
