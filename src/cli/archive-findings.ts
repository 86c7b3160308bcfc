import { openArchive } from "../archive/open-archive.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { CommandConfig } from "./database.ts";

/** Reads every archived month: a line of the audit, none if no month is archived. */
export async function archiveFindings(config: CommandConfig) {
  const [{ verifyArchived }, { PostgresMonths }] = await Promise.all([
    import("../app/operations/archive/verify-month.ts"),
    import("../postgres/archive/months.ts"),
  ]);
  const store = new PostgresMonths(config.DATABASE_URL);
  try {
    const archive = await openArchive(config);
    const months = await store.archived();
    const problems: string[] = [];
    for (const month of months) {
      try {
        if (!archive) throw new ToolgateError("UNAVAILABLE", "ARCHIVE_URL is not set");
        await verifyArchived(archive, store, month);
      } catch (error) {
        if (!(error instanceof ToolgateError)) throw error;
        problems.push(month.month);
      }
    }
    if (months.length === 0) return [];
    const unread = problems.length === 0 ? "" : `; not ${problems.join(", ")} (see archive verify)`;
    return [
      {
        invariant: "archived_files",
        checked: BigInt(months.length),
        violations: BigInt(problems.length),
        description: `the files of archived months are those that were verified${unread}`,
      },
    ];
  } finally {
    await store.close();
  }
}
