import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import { ARCHIVED_TABLES, keyOf } from "../app/operations/archive/month-archive.ts";
import type {
  AccountRange,
  MonthArchive,
  PublishedMonth,
  TableSource,
  ArchivedRow,
  ArchivedTable,
  Column,
  RowBatches,
} from "../app/operations/archive/month-archive.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Month } from "../domain/core/month.ts";
import type { ObjectStore } from "./object-store.ts";
import { decodeRows, encodeRows } from "./parquet.ts";

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
function parseManifest(bytes: Uint8Array): Manifest {
  return manifest.parse(JSON.parse(Buffer.from(bytes).toString()));
}

function manifestBytes(content: Manifest): Uint8Array {
  return Buffer.from(`${JSON.stringify(content, null, 1)}\n`);
}

/** SHA-256 in hex. */
function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Rows of a file. A read decodes a whole one, so that its hash can be checked. */
const PART_ROWS = 8_192;

const KEPT_MANIFESTS = 24;

export class Archive implements MonthArchive {
  readonly #store: ObjectStore;
  /** By hash. */
  readonly #manifests = new Map<string, Manifest>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  get address(): string {
    return this.#store.address;
  }

  async published(month: Month): Promise<PublishedMonth | undefined> {
    const bytes = await this.#get(month, manifestName(month));
    return bytes && { month, manifest: hashOf(bytes) };
  }

  async write(month: Month, tables: Readonly<Record<ArchivedTable, TableSource>>): Promise<PublishedMonth> {
    const name = manifestName(month);
    if (await this.#get(month, name)) throw unavailable(month, `${this.address}: ${name} exists already`);
    // A folder of its own: what an attempt that failed has left is never read.
    const folder = `${month}/${randomUUID().slice(0, 8)}`;
    const written: Record<string, TableManifest> = {};
    for (const table of ARCHIVED_TABLES)
      written[table] = await this.#writeTable(month, `${folder}/${table}`, tables[table]);
    const bytes = manifestBytes({ format: 1, month, tables: written });
    await this.#create(month, name, bytes);
    return { month, manifest: hashOf(bytes) };
  }

  async columns(published: PublishedMonth, table: ArchivedTable): Promise<readonly Column[]> {
    return (await this.#table(published, table)).columns;
  }

  async *rows(published: PublishedMonth, table: ArchivedTable): RowBatches {
    const { columns, parts } = await this.#table(published, table);
    for (const part of parts) yield await this.#read(published.month, columns, part);
  }

  async *rowsOf(published: PublishedMonth, table: ArchivedTable, range: AccountRange): RowBatches {
    const { columns, parts } = await this.#table(published, table);
    const [from, to] = [`${range.account} ${range.from}`, `${range.account} ${range.to}`];
    const found = parts.filter(({ first, last }) => last >= from && first <= to);
    for (const part of range.order === "newest" ? found.toReversed() : found) {
      const rows = (await this.#read(published.month, columns, part)).filter((row) => {
        const key = keyOf(row);
        return key >= from && key <= to;
      });
      if (rows.length > 0) yield range.order === "newest" ? rows.toReversed() : rows;
    }
  }

  async #writeTable(month: Month, name: string, source: TableSource): Promise<TableManifest> {
    const { columns } = source;
    const parts: Part[] = [];
    for await (const part of inParts(source.rows())) {
      const file = `${name}-${String(parts.length).padStart(6, "0")}.parquet`;
      const bytes = encodeRows(columns, part);
      await this.#create(month, file, bytes);
      const [first, last] = [part[0], part.at(-1)];
      if (first && last)
        parts.push({
          file,
          rows: part.length,
          sha256: hashOf(bytes),
          first: keyOf(first),
          last: keyOf(last),
        });
    }
    return { columns: [...columns], parts };
  }

  async #table({ month, manifest }: PublishedMonth, table: ArchivedTable): Promise<TableManifest> {
    const known = this.#manifests.get(manifest) ?? (await this.#readManifest(month, manifest));
    this.#manifests.delete(manifest);
    this.#manifests.set(manifest, known);
    for (const oldest of this.#manifests.keys()) {
      if (this.#manifests.size <= KEPT_MANIFESTS) break;
      this.#manifests.delete(oldest);
    }
    return known.tables[table] ?? { columns: [], parts: [] };
  }

  async #readManifest(month: Month, sha256: string): Promise<Manifest> {
    const name = manifestName(month);
    const bytes = await this.#checked(month, name, sha256);
    return attempt(() => parseManifest(bytes), month, `${this.address}: ${name} is no manifest`);
  }

  async #read(month: Month, columns: readonly Column[], part: Part): Promise<readonly ArchivedRow[]> {
    const bytes = await this.#checked(month, part.file, part.sha256);
    const problem = `${this.address}: ${part.file} cannot be read`;
    const rows = await attempt(() => decodeRows(columns, bytes), month, problem);
    if (rows.length !== part.rows) throw unavailable(month, problem);
    return rows;
  }

  async #checked(month: Month, name: string, sha256: string): Promise<Uint8Array> {
    const bytes = await this.#get(month, name);
    if (!bytes) throw unavailable(month, `${this.address}: ${name} is missing`);
    if (hashOf(bytes) !== sha256) throw unavailable(month, `${this.address}: ${name} is damaged`);
    return bytes;
  }

  #get(month: Month, name: string): Promise<Uint8Array | undefined> {
    return attempt(() => this.#store.get(name), month, `${this.address}: ${name} cannot be read`);
  }

  async #create(month: Month, name: string, bytes: Uint8Array): Promise<void> {
    const problem = `${this.address}: ${name} cannot be written`;
    if (!(await attempt(() => this.#store.create(name, bytes), month, problem)))
      throw unavailable(month, `${this.address}: ${name} exists already`);
  }
}

function manifestName(month: Month): string {
  return `${month}/manifest.json`;
}

async function* inParts(batches: RowBatches): RowBatches {
  let part: ArchivedRow[] = [];
  for await (const batch of batches) {
    for (const row of batch) {
      part.push(row);
      if (part.length < PART_ROWS) continue;
      yield part;
      part = [];
    }
  }
  if (part.length > 0) yield part;
}

async function attempt<Result>(
  work: () => Result | Promise<Result>,
  month: Month,
  problem: string,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof Error ? `: ${error.message}` : "";
    throw unavailable(month, `${problem}${why}`, error);
  }
}

/** A caller learns the month; the storage and its files are named in the log and by commands. */
function unavailable(month: Month, problem: string, cause?: unknown): ToolgateError {
  return new ToolgateError("UNAVAILABLE", `the archived month ${month} cannot be used; try again later`, {
    cause: new Error(problem, cause === undefined ? {} : { cause }),
  });
}
