import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { ArchiveMonths } from "../../src/app/operations/archive/archive-months.ts";
import { openArchive } from "../../src/archive/open-archive.ts";
import { PostgresMonths } from "../../src/postgres/archive/months.ts";
import { systemClock } from "../../src/system.ts";
import { query } from "../support/database-server.ts";

/** The first month of every ledger. */
const MONTH = "2026-01";

/** What was archived, and how long it took. */
export interface Archived {
  readonly rows: number;
  readonly seconds: number;
}

/** Archives the first month of an audited ledger, to a folder: what `toolgate archive` does. */
export async function archiveFirstMonth(url: string): Promise<Archived> {
  // The answers of such an old month have expired.
  await query(
    url,
    `delete from idempotency where expires_at < 'infinity' and run_id < partition_bound('2026-02-01Z')`,
  );
  const { rows } = await query(
    url,
    "select (select count(*) from run_2026_01) + (select count(*) from receipt_2026_01) as rows",
  );
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-bench-archive-"));
  const store = new PostgresMonths(url);
  try {
    const archive = await openArchive({ ARCHIVE_URL: pathToFileURL(folder).href, AWS_REGION: "" });
    if (!archive) throw new Error("no archive");
    const months = new ArchiveMonths({ archive, store, clock: systemClock, keptMonths: 2 });
    const began = performance.now();
    await months.archive(MONTH);
    return { rows: Number(rows[0].rows), seconds: (performance.now() - began) / 1000 };
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}
