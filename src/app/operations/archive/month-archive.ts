import type { Month } from "../../../domain/core/month.ts";
import type { ArchivedTable, Column, RowBatches } from "./archived-tables.ts";

/** A month in the archive. */
export interface PublishedMonth {
  readonly month: Month;
  /** SHA-256 of its manifest, which names all files with theirs, in hex. */
  readonly manifest: string;
}

/** The rows of a table that are to be written. */
export interface TableSource {
  readonly columns: readonly Column[];
  rows(): RowBatches;
}

/** Rows of one account with ids from one to another, both included. All are UUIDs. */
export interface AccountRange {
  readonly account: string;
  readonly from: string;
  readonly to: string;
  readonly order: "oldest" | "newest";
}

/** Stored months. Every file that is read is compared with its hash in the manifest. */
export interface MonthArchive {
  /** Address without secrets, for messages. */
  readonly address: string;
  /** Returns a month that was written before; undefined: it was not. */
  published(month: Month): Promise<PublishedMonth | undefined>;
  /**
   * Writes a month and publishes it last. Overwrites nothing.
   * @throws ToolgateError UNAVAILABLE when the storage fails, or has that month already
   */
  write(month: Month, tables: Readonly<Record<ArchivedTable, TableSource>>): Promise<PublishedMonth>;
  /** @throws ToolgateError UNAVAILABLE, naming the month, when a file is missing or damaged */
  columns(published: PublishedMonth, table: ArchivedTable): Promise<readonly Column[]>;
  /** All rows. @throws ToolgateError UNAVAILABLE, naming the month, when a file is missing or damaged */
  rows(published: PublishedMonth, table: ArchivedTable): RowBatches;
  /** Rows of one account in the order of the range. @throws as {@link MonthArchive.rows} */
  rowsOf(published: PublishedMonth, table: ArchivedTable, range: AccountRange): RowBatches;
}
