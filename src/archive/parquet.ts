import { parquetReadObjects, type SchemaElement } from "hyparquet";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import type { ColumnType, ArchivedRow, Column } from "../app/operations/archive/month-archive.ts";

/** How values of a type are stored in a Parquet file. */
interface ValueFormat {
  readonly schema: Readonly<Record<string, unknown>>;
  /** @param text as PostgreSQL writes it */
  encode(text: string): unknown;
  /** @throws Error when the value has another type */
  decode(value: unknown): string;
}

const MICROS = 1_000_000n;

/** Times in UTC: `2026-05-01 12:00:00.123456+00`. */
const TIME = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?\+00$/;

const VALUE_FORMATS: Readonly<Record<ColumnType, ValueFormat>> = {
  uuid: {
    schema: { type: "FIXED_LEN_BYTE_ARRAY", type_length: 16, logical_type: { type: "UUID" } },
    encode: (text) => Buffer.from(text.replaceAll("-", ""), "hex"),
    decode: (value) =>
      bytesOf(value)
        .toString("hex")
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
  },
  text: {
    schema: { type: "BYTE_ARRAY", converted_type: "UTF8" },
    encode: (text) => text,
    decode: (value) => {
      if (typeof value !== "string") throw typeError("text", value);
      return value;
    },
  },
  integer: { schema: { type: "INT32" }, encode: Number, decode: wholeNumberOf },
  bigint: { schema: { type: "INT64" }, encode: BigInt, decode: wholeNumberOf },
  timestamp: {
    schema: {
      type: "INT64",
      converted_type: "TIMESTAMP_MICROS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
    encode: microsOf,
    decode: (value) => {
      if (typeof value !== "bigint") throw typeError("a timestamp", value);
      return timeOf(value);
    },
  },
  bytes: {
    schema: { type: "BYTE_ARRAY" },
    encode: (text) => Buffer.from(text.slice(2), "hex"),
    decode: (value) => `\\x${bytesOf(value).toString("hex")}`,
  },
};

/** Values are decoded here, and not as dates, which have no microseconds. */
const PLAIN_PARSERS = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  uuidFromBytes: (bytes: Uint8Array) => bytes,
};

function microsOf(text: string): bigint {
  const [, day, time, fraction = ""] = TIME.exec(text) ?? [];
  const ms = Date.parse(`${day}T${time}Z`);
  if (Number.isNaN(ms)) throw new Error(`cannot archive the time ${text}`);
  return BigInt(ms) * 1000n + BigInt(fraction.padEnd(6, "0"));
}

function timeOf(micros: bigint): string {
  const fraction = ((micros % MICROS) + MICROS) % MICROS;
  const whole = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, 19).replace("T", " ");
  const digits = fraction.toString().padStart(6, "0").replace(/0+$/, "");
  return `${whole}${digits === "" ? "" : `.${digits}`}+00`;
}

function wholeNumberOf(value: unknown): string {
  if (typeof value !== "bigint" && !Number.isInteger(value)) throw typeError("a whole number", value);
  return String(value);
}

function bytesOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) throw typeError("bytes", value);
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function typeError(expected: string, value: unknown): Error {
  return new Error(`a value is ${typeof value}, not ${expected}`);
}

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
