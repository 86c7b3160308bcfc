import { ToolgateError } from "../../../domain/core/errors.ts";
import { ARCHIVED_TABLES, keyOf } from "./month-archive.ts";
import type {
  ArchivedRow,
  ArchivedTable,
  Column,
  RowBatches,
  MonthArchive,
  PublishedMonth,
  ArchivedMonth,
  MonthStore,
  Totals,
  VerifiedMonth,
} from "./month-archive.ts";

type Mutable<Type> = { -readonly [Member in keyof Type]: Type[Member] };

/**
 * Reads every file of a month back and compares each row with the table, and the sums with the database's.
 * @throws ToolgateError UNAVAILABLE when a file is missing, damaged or differs
 */
export async function verifyAgainstTables(
  archive: MonthArchive,
  store: Pick<MonthStore, "table" | "totals">,
  published: PublishedMonth,
): Promise<VerifiedMonth> {
  const sums = new Sums();
  for (const table of ARCHIVED_TABLES) {
    const source = await store.table(published.month, table);
    await compareRows({
      what: `${archive.address}: the files of ${published.month}`,
      table,
      columns: source.columns,
      archived: archive.rows(published, table),
      stored: source.rows(),
      each: (row) => sums.add(table, row),
    });
  }
  sums.compare(await store.totals(published.month), published.month);
  return { ...published, totals: sums.all() };
}

/**
 * Reads every file of a month, and compares its sums with those stored when it was archived.
 * @throws ToolgateError UNAVAILABLE when a file is missing, damaged or differs
 */
export async function verifyArchived(
  archive: MonthArchive,
  store: Pick<MonthStore, "archivedTotals">,
  month: ArchivedMonth,
  signal?: AbortSignal,
): Promise<void> {
  const sums = new Sums();
  for (const table of ARCHIVED_TABLES) {
    for await (const rows of archive.rows(month, table)) {
      signal?.throwIfAborted();
      for (const row of rows) sums.add(table, row);
    }
  }
  sums.compare(await store.archivedTotals(month.month), month.month);
}

/** Adds up rows by account. */
class Sums {
  readonly #accounts = new Map<string, Mutable<Totals>>();

  add(table: ArchivedTable, row: ArchivedRow): void {
    const account = row["account_id"] ?? "";
    const totals = this.#accounts.get(account) ?? { runs: 0n, receipts: 0n, charged: 0n };
    this.#accounts.set(account, totals);
    if (table === "run") totals.runs += 1n;
    else {
      totals.receipts += 1n;
      totals.charged += BigInt(row["debited"] ?? "");
    }
  }

  all(): Totals {
    const all = { runs: 0n, receipts: 0n, charged: 0n };
    for (const { runs, receipts, charged } of this.#accounts.values()) {
      all.runs += runs;
      all.receipts += receipts;
      all.charged += charged;
    }
    return all;
  }

  /** @throws ToolgateError UNAVAILABLE when an account's sums differ */
  compare(expected: ReadonlyMap<string, Totals>, month: string): void {
    const accounts = new Set([...this.#accounts.keys(), ...expected.keys()]);
    for (const account of accounts) {
      const [found, known] = [this.#accounts.get(account), expected.get(account)];
      if (textOf(found) !== textOf(known))
        throw differs(month, `account ${account} has ${textOf(found)}, and not ${textOf(known)}`);
    }
  }
}

interface Comparison {
  readonly what: string;
  readonly table: ArchivedTable;
  readonly columns: readonly Column[];
  readonly archived: RowBatches;
  readonly stored: RowBatches;
  readonly each: (row: ArchivedRow) => void;
}

/** @throws ToolgateError UNAVAILABLE at the first row that differs */
async function compareRows({ what, table, columns, archived, stored, each }: Comparison): Promise<void> {
  const rest = rowByRow(stored);
  for await (const row of rowByRow(archived)) {
    const { value: expected } = await rest.next();
    const column = columns.find(({ name }) => row[name] !== expected?.[name]);
    if (column || !expected)
      throw differs(what, `${table} ${keyOf(row)} differs in ${column?.name ?? "all columns"}`);
    each(row);
  }
  const { value: missing } = await rest.next();
  if (missing) throw differs(what, `${table} ${keyOf(missing)} is missing`);
}

async function* rowByRow(batches: RowBatches): AsyncGenerator<ArchivedRow, undefined> {
  for await (const batch of batches) yield* batch;
  return undefined;
}

function differs(what: string, how: string): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    `${what} do not agree with the database: ${how}; the guide "Archive old months" says what to do`,
  );
}

function textOf(totals: Totals | undefined): string {
  if (!totals) return "no calls";
  return `${totals.runs} runs, ${totals.receipts} receipts, ${totals.charged} micro-USD`;
}
