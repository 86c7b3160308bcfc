import type { Pool } from "pg";
import { ARCHIVED_TABLES } from "../../app/operations/archive/archived-tables.ts";
import type { Month } from "../../domain/core/month.ts";
import { withBriefLocks } from "./brief-locks.ts";
import { partitionOf } from "./month-tables.ts";

/** A constraint that no row meets. It is not validated, so the rows of before stay. */
export const FROZEN = "archive_frozen";

/** Refuses new and changed rows of a month. */
export async function freezeMonth(pool: Pool, month: Month): Promise<void> {
  await withBriefLocks(pool, async (client) => {
    for (const table of ARCHIVED_TABLES) {
      const part = partitionOf(table, month);
      await client.query(
        `alter table ${part} drop constraint if exists ${FROZEN},
           add constraint ${FROZEN} check (false) not valid`,
      );
    }
  });
}

export async function thawMonth(pool: Pool, month: Month): Promise<void> {
  await withBriefLocks(pool, async (client) => {
    for (const table of ARCHIVED_TABLES)
      await client.query(`alter table ${partitionOf(table, month)} drop constraint if exists ${FROZEN}`);
  });
}
