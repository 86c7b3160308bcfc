/** Tables whose months can be archived. */
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
