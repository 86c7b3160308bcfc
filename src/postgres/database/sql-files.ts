import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** One file under sql/. */
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

/** The schema that this version of the program works on. */
export interface SqlSchema {
  /** Grows with each change of a file; orders databases and programs. */
  readonly version: number;
  /** Migrations that run once and are never changed, in order. */
  readonly frozen: readonly SqlFile[];
  /** Applied again whenever they change, in the order of their dependencies. */
  readonly repeatable: readonly SqlFile[];
}

export const SQL_FOLDER: string = path.join(import.meta.dirname, "sql");

/** The committed checksums of all files, and the version of the schema. */
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
