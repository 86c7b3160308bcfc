import { parquetReadObjects, type SchemaElement } from "hyparquet";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import type { ArchivedRow, Column } from "../app/operations/archive/archived-tables.ts";
import { PLAIN_PARSERS, VALUE_FORMATS } from "./values.ts";

/** Returns a Parquet file of one row group. */
export function encodeRows(columns: readonly Column[], rows: readonly ArchivedRow[]): Uint8Array {
  const writer = new ByteWriter();
  void parquetWrite({
    writer,
    columnData: columns.map(({ name, type }) => ({
      name,
      data: rows.map((row) => {
        const text = row[name] ?? null;
        return text === null ? null : VALUE_FORMATS[type].encode(text);
      }),
    })),
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.map(({ name, type }): SchemaElement => ({
        name,
        repetition_type: "OPTIONAL",
        ...VALUE_FORMATS[type].schema,
      })),
    ],
    rowGroupSize: Math.max(1, rows.length),
  });
  return writer.getBytes();
}

/** @throws Error when it is no Parquet file, or lacks a column */
export async function decodeRows(columns: readonly Column[], file: Uint8Array): Promise<ArchivedRow[]> {
  const bytes = new Uint8Array(file);
  const found = await parquetReadObjects({
    file: bytes.buffer,
    columns: columns.map(({ name }) => name),
    utf8: false,
    parsers: PLAIN_PARSERS,
  });
  return found.map((values) => {
    const row: Record<string, string | null> = {};
    for (const { name, type } of columns) {
      const value: unknown = values[name];
      row[name] = value === null || value === undefined ? null : VALUE_FORMATS[type].decode(value);
    }
    return row;
  });
}
