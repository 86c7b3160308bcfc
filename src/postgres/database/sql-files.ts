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
  return {
    version: readChecksums(folder).version,
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
  "the schema is older than the first release; create a new database (in development: delete the data " +
  "folder)";

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
  const { rows } = await database.query<{ migration: boolean; files: boolean }>(
    `select to_regclass('public.migration') is not null as migration,
            to_regclass('public.schema_file') is not null as files`,
  );
  if (!rows[0]?.files) {
    const conflict = rows[0]?.migration ? TOO_OLD : undefined;
    return { conflict, ahead: false, pending: [...schema.frozen, ...schema.repeatable], removed: [] };
  }
  const installed = await installedFiles(database);
  const { rows: versions } = await database.query<{ version: number | null }>(
    "select max(version) as version from schema_version",
  );
  return compare(schema, installed, versions[0]?.version ?? 0);
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

function conflictOf(schema: SqlSchema, installed: ReadonlyMap<string, string>): string | undefined {
  const altered = schema.frozen.find(
    ({ path, checksum }) => installed.has(path) && installed.get(path) !== checksum,
  );
  return altered && `${altered.path}.sql was changed after it was applied; restore the file`;
}
