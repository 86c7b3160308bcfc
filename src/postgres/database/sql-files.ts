import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { ClientBase, Pool } from "pg";

export interface SqlFile {
  readonly folder: string;
  /** The file's name without its extension: of a migration, or of the view, function or trigger function. */
  readonly name: string;
  /** `functions/rate_take` */
  readonly path: string;
  readonly text: string;
  /** SHA-256 in hex. */
  readonly checksum: string;
}

export interface SqlSchema {
  /** Grows with each change of a file; orders databases and programs. */
  readonly version: number;
  /** Checksums of the files as they were released, by `functions/rate_take.sql`. */
  readonly released: ReadonlyMap<string, string>;
  /** Migrations that run once and are never changed, in order. */
  readonly frozen: readonly SqlFile[];
  /** Applied again whenever they change, in the order of their dependencies. */
  readonly repeatable: readonly SqlFile[];
}

export const SQL_FOLDER: string = path.join(import.meta.dirname, "sql");

export const CHECKSUMS = "checksums.json";

const REPEATABLE = ["views", "functions", "triggers", "grants"] as const;

/** @param folder another schema than the program's own: for tests of upgrades */
export function readSqlSchema(folder: string = SQL_FOLDER): SqlSchema {
  const { version, files } = readChecksums(folder);
  return {
    version,
    released: files,
    frozen: filesOf(folder, "migrations"),
    repeatable: REPEATABLE.flatMap((name) => filesOf(folder, name)),
  };
}

/** @throws SyntaxError, TypeError when the committed file is damaged */
export function readChecksums(folder: string): { version: number; files: ReadonlyMap<string, string> } {
  const json: unknown = JSON.parse(readFileSync(path.join(folder, CHECKSUMS), "utf8"));
  if (!isRecord(json) || !Number.isSafeInteger(json["version"]) || !isRecord(json["files"]))
    throw new TypeError(`${CHECKSUMS} needs a version and the checksums of files`);
  return {
    version: Number(json["version"]),
    files: new Map(Object.entries(json["files"]).map(([name, checksum]) => [name, String(checksum)])),
  };
}

function filesOf(root: string, folder: string): SqlFile[] {
  const names = readdirSync(path.join(root, folder)).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((file) => {
    const text = readFileSync(path.join(root, folder, file), "utf8");
    const name = path.basename(file, ".sql");
    const checksum = createHash("sha256").update(text).digest("hex");
    return { folder, name, path: `${folder}/${name}`, text, checksum };
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const TOO_OLD =
  "the database was made before 0.1.0, and no version can migrate it or load its data; create a new one, " +
  "run migrate, then create its accounts and keys again and credit what they had with accounts adjust (in " +
  "development: delete the data folder)";

/** Installed schema objects compared with the program's. */
export interface SchemaState {
  /** Why the program cannot work on this database and `migrate` cannot help. */
  readonly conflict: string | undefined;
  readonly ahead: boolean;
  /** Files that `migrate` would apply, in order. */
  readonly pending: readonly SqlFile[];
  /** Views, functions and triggers that are installed and have no file any more, as `functions/name`. */
  readonly removed: readonly string[];
}

export async function schemaState(database: Pool | ClientBase, schema: SqlSchema): Promise<SchemaState> {
  const tables = await tablesOf(database, schema);
  if (!tables.includes("schema_file")) {
    const conflict = tables.length > 0 ? TOO_OLD : undefined;
    return { conflict, ahead: false, pending: [...schema.frozen, ...schema.repeatable], removed: [] };
  }
  const installed = await installedFiles(database);
  const { rows: versions } = await database.query<{ version: number | null }>(
    "select max(version) as version from schema_version",
  );
  return compare(schema, installed, versions[0]?.version ?? 0);
}

/** The tables of the baseline that are there; other programs may have tables too. */
async function tablesOf(database: Pool | ClientBase, { frozen }: SqlSchema): Promise<string[]> {
  const names = frozen[0]?.text.matchAll(/^create (?:unlogged )?table (\w+)/gm) ?? [];
  const { rows } = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname = any ($1)`,
    [Array.from(names, ([, name]) => name)],
  );
  return rows.map(({ name }) => name);
}

async function installedFiles(database: Pool | ClientBase): Promise<Map<string, string>> {
  const { rows } = await database.query<{ name: string; checksum: string }>(
    "select name, checksum from schema_file",
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

function compare(schema: SqlSchema, installed: ReadonlyMap<string, string>, version: number): SchemaState {
  const frozen = schema.frozen.filter((file) => !installed.has(file.path));
  // A view has the columns that its tables had when it was made.
  const remade = (file: SqlFile) => frozen.length > 0 && file.folder === "views";
  const pending = [
    ...frozen,
    ...schema.repeatable.filter((file) => installed.get(file.path) !== file.checksum || remade(file)),
  ];
  const known = new Set([...schema.frozen, ...schema.repeatable].map((file) => file.path));
  const unknown = [...installed.keys()].filter((name) => !known.has(name));
  return {
    conflict: conflictOf(schema, installed),
    ahead: version > schema.version || unknown.some((name) => name.startsWith("migrations/")),
    pending,
    removed: unknown.filter((name) => !name.startsWith("migrations/")),
  };
}

function conflictOf(
  { frozen, released }: SqlSchema,
  installed: ReadonlyMap<string, string>,
): string | undefined {
  if (frozen[0] && !installed.has(frozen[0].path)) return TOO_OLD;
  const altered = frozen.find(
    ({ path, checksum }) => installed.has(path) && installed.get(path) !== checksum,
  );
  if (!altered) return undefined;
  const file = `${altered.path}.sql`;
  return released.get(file) === altered.checksum
    ? TOO_OLD
    : `${file} was changed after it was applied; restore the file`;
}
