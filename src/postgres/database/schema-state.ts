import type { ClientBase, Pool } from "pg";
import type { SqlFile, SqlSchema } from "./sql-files.ts";

const TOO_OLD =
  "the schema is older than the first release; create a new database (in development: delete the data " +
  "folder)";

/** Installed schema objects compared with the program's. */
export interface SchemaState {
  /** Why the program cannot work on this database and `migrate` cannot help. */
  readonly conflict: string | undefined;
  /** Whether a later version has migrated the database. */
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
