import type { MicroUsd } from "../../../domain/core/money.ts";
import type { Month } from "../../../domain/core/month.ts";
import type { ArchivedRow, ArchivedTable, Column } from "./archived-tables.ts";
import type { PublishedMonth, TableSource } from "./month-archive.ts";

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
   * Compares the entries up to the end of the month with their seals.
   * @throws ToolgateError INVALID_REQUEST when they have changed
   */
  requireUnchanged(month: Month): Promise<void>;
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
  /** Takes the filled tables in, and stores that the month is no longer archived. */
  attach(month: Month): Promise<void>;
  /** Stores the hash of what is not archived, which the full audit compares. */
  sealRest(): Promise<void>;
}
