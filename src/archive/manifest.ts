import { createHash } from "node:crypto";
import { z } from "zod";
import { ARCHIVED_TABLES } from "../app/operations/archive/archived-tables.ts";

const part = z.strictObject({
  file: z.string().regex(/^[0-9a-z/-]{1,100}\.parquet$/),
  rows: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Keys (account and id) of the first and the last row. */
  first: z.string(),
  last: z.string(),
});

const table = z.strictObject({
  columns: z.array(
    z.strictObject({
      name: z.string(),
      type: z.enum(["uuid", "text", "integer", "bigint", "timestamp", "bytes"]),
    }),
  ),
  parts: z.array(part),
});

const manifest = z.strictObject({
  format: z.literal(1),
  month: z.string(),
  tables: z.strictObject(Object.fromEntries(ARCHIVED_TABLES.map((name) => [name, table]))),
});

/** A Parquet file of consecutive rows. */
export type Part = z.output<typeof part>;

/** The rows of a table: all files, in the order of their rows. */
export type TableManifest = z.output<typeof table>;

/** Names every file of a month, with its hash. */
export interface Manifest {
  readonly format: 1;
  readonly month: string;
  readonly tables: Readonly<Record<string, TableManifest>>;
}

/** @throws Error when it is not a manifest */
export function parseManifest(bytes: Uint8Array): Manifest {
  return manifest.parse(JSON.parse(Buffer.from(bytes).toString()));
}

export function manifestBytes(content: Manifest): Uint8Array {
  return Buffer.from(`${JSON.stringify(content, null, 1)}\n`);
}

/** SHA-256 in hex. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
