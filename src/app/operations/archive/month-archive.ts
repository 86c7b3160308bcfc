import type { Month } from "../../../domain/core/month.ts";
import type { MicroUsd } from "../../../domain/core/money.ts";

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

export const ARCHIVED_TABLES = ["run", "receipt"] as const;
export type ArchivedTable = (typeof ARCHIVED_TABLES)[number];

/** How the values of a column are stored. */
export type ColumnType = "uuid" | "text" | "integer" | "bigint" | "timestamp" | "bytes";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** The values of a row by column, as PostgreSQL writes them (times in UTC); null where there is none. */
export type ArchivedRow = Readonly<Record<string, string | null>>;

/** Rows in batches, ordered by account and id. */
export type RowBatches = AsyncIterable<readonly ArchivedRow[]>;

/** An account and an id: the order of the rows of a table. Texts of UUIDs compare as UUIDs do. */
export function keyOf(row: ArchivedRow): string {
  return `${row["account_id"]} ${row["id"]}`;
}

/** What the calls of an account, or of all, add up to. */
export interface Totals {
  readonly runs: bigint;
  readonly receipts: bigint;
  readonly charged: MicroUsd;
}

/** A month that is archived, and in no table. */
export interface ArchivedMonth extends PublishedMonth, Totals {
  readonly archivedAt: Date;
}

/** A month whose files were read back and compared with its rows. Made by verify-month.ts alone. */
export interface VerifiedMonth extends PublishedMonth {
  readonly totals: Totals;
}

/** The months of runs and receipts in the database. */
export interface MonthStore {
  /**
   * Runs the work while no other command archives or restores.
   * @throws ToolgateError UNAVAILABLE while another one does
   */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Months in the tables, oldest first. */
  present(): Promise<Month[]>;
  /** Oldest first. */
  archived(): Promise<ArchivedMonth[]>;
  /** Why a month has to stay in the tables; empty: it can be archived. */
  obstacles(month: Month): Promise<string[]>;
  /** Refuses every change of the month from now on, and waits for those that are under way. */
  freeze(month: Month): Promise<void>;
  thaw(month: Month): Promise<void>;
  /**
   * Compares all that is sealed and not archived with its seals.
   * @throws ToolgateError INVALID_REQUEST when it has changed
   */
  requireUnchanged(): Promise<void>;
  table(month: Month, table: ArchivedTable): Promise<TableSource>;
  /** By account, a UUID. */
  totals(month: Month): Promise<ReadonlyMap<string, Totals>>;
  /** The same of an archived month, as stored when it was archived. */
  archivedTotals(month: Month): Promise<ReadonlyMap<string, Totals>>;
  /** Takes a frozen, verified month out of the tables, deletes its rows and stores that it is archived. */
  drop(month: VerifiedMonth): Promise<void>;
  /** Makes empty tables for a month that comes back; drops those of an attempt that failed. */
  prepare(month: Month): Promise<void>;
  fill(
    month: Month,
    table: ArchivedTable,
    columns: readonly Column[],
    rows: readonly ArchivedRow[],
  ): Promise<void>;
  /**
   * Compares the receipts of the filled tables with the seals.
   * @throws ToolgateError INVALID_REQUEST when they are not those that were sealed
   */
  requireSealed(month: Month): Promise<void>;
  /** Takes the filled tables in, and stores that the month is no longer archived. */
  attach(month: Month): Promise<void>;
}
