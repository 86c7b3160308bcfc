import type { Clock } from "../../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../../domain/core/errors.ts";
import { endedMonthsAgo, type Month } from "../../../domain/core/month.ts";
import { ARCHIVED_TABLES } from "./month-archive.ts";
import type { MonthArchive, PublishedMonth, ArchivedMonth, MonthStore } from "./month-archive.ts";
import { verifyAgainstTables, verifyArchived } from "./verify-month.ts";

/** Months that stay at least: the console sums up what was spent in the last 30 days. */
const MINIMUM_MONTHS = 2;

/** A month that can be archived, or why it cannot. */
export interface Candidate {
  readonly month: Month;
  readonly obstacles: readonly string[];
}

export interface ArchiveMonthsOptions {
  readonly archive: MonthArchive;
  readonly store: MonthStore;
  readonly clock: Clock;
  /** Full months that stay in the tables. */
  readonly keptMonths: number;
}

/** Moves months of runs and receipts to the archive and back. Each step can be repeated after a crash. */
export class ArchiveMonths {
  readonly #options: ArchiveMonthsOptions;

  constructor(options: ArchiveMonthsOptions) {
    this.#options = options;
  }

  list(): Promise<ArchivedMonth[]> {
    return this.#options.store.archived();
  }

  /**
   * Returns the months that are old enough, or the one that is asked for.
   * @throws ToolgateError INVALID_REQUEST for a month that is too young, archived or unknown
   */
  async candidates(asked?: Month): Promise<Candidate[]> {
    const { store, clock, keptMonths } = this.#options;
    if (asked !== undefined) await this.#requireOld(asked);
    const months =
      asked === undefined
        ? (await store.present()).filter((month) => endedMonthsAgo(month, keptMonths + 1, clock.now()))
        : [asked];
    return Promise.all(months.map(async (month) => ({ month, obstacles: await store.obstacles(month) })));
  }

  /**
   * Writes a month, reads it back, compares every row, and only then drops it. A month that was written
   * before is not written again.
   * @throws ToolgateError INVALID_REQUEST when it has to stay; UNAVAILABLE when the archive fails
   */
  async archive(month: Month): Promise<void> {
    const { archive, store } = this.#options;
    await store.exclusively(async () => {
      await this.#requireOld(month);
      await store.freeze(month);
      try {
        const obstacles = await store.obstacles(month);
        if (obstacles.length > 0) throw invalidField(month, obstacles.join("; "));
        await store.requireUnchanged();
        const published = (await archive.published(month)) ?? (await this.#write(month));
        await store.drop(await verifyAgainstTables(archive, store, published));
      } catch (error) {
        await store.thaw(month).catch(() => {});
        throw error;
      }
    });
  }

  /**
   * Brings an archived month back into the tables. Its files stay.
   * @throws ToolgateError NOT_FOUND when it is not archived; INVALID_REQUEST when sealed entries changed;
   * UNAVAILABLE when the archive fails
   */
  async restore(month: Month): Promise<void> {
    const { archive, store } = this.#options;
    await store.exclusively(async () => {
      const archived = await this.#archived(month);
      await store.requireUnchanged();
      await store.prepare(month);
      for (const table of ARCHIVED_TABLES) {
        const columns = await archive.columns(archived, table);
        for await (const rows of archive.rows(archived, table)) await store.fill(month, table, columns, rows);
      }
      await verifyAgainstTables(archive, store, archived);
      await verifyArchived(archive, store, archived);
      await store.requireSealed(month);
      await store.attach(month);
    });
  }

  /**
   * Reads all files of a month and compares them with what was stored when it was archived.
   * @throws ToolgateError NOT_FOUND when it is not archived; UNAVAILABLE when a file is missing or damaged
   */
  async verify(month: Month): Promise<void> {
    await verifyArchived(this.#options.archive, this.#options.store, await this.#archived(month));
  }

  async #write(month: Month): Promise<PublishedMonth> {
    const { archive, store } = this.#options;
    const [run, receipt] = await Promise.all(ARCHIVED_TABLES.map((table) => store.table(month, table)));
    if (!run || !receipt) throw new Error("a table has no source");
    return archive.write(month, { run, receipt });
  }

  async #archived(month: Month): Promise<ArchivedMonth> {
    const found = (await this.#options.store.archived()).find((one) => one.month === month);
    if (!found)
      throw new ToolgateError("NOT_FOUND", `${month} is not archived; toolgate archive list shows what is`);
    return found;
  }

  /** @throws ToolgateError INVALID_REQUEST for a month that is archived, unknown or too young */
  async #requireOld(month: Month): Promise<void> {
    const { store, clock } = this.#options;
    if ((await store.archived()).some((one) => one.month === month))
      throw invalidField(month, "is archived already");
    if (!(await store.present()).includes(month))
      throw invalidField(month, "has no partition in this database");
    if (!endedMonthsAgo(month, MINIMUM_MONTHS + 1, clock.now()))
      throw invalidField(month, `ended less than ${MINIMUM_MONTHS} full months ago and has to stay`);
  }
}
