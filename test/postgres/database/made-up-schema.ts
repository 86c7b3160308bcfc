import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { CHECKSUMS, readChecksums, SQL_FOLDER } from "../../../src/postgres/database/sql-files.ts";

/** A folder of SQL files that no version of the program has. */
export interface MadeUpSchema {
  readonly folder: string;
  /** Replaces a file, creates it, or deletes it when there is no text. */
  write(file: string, text: string | undefined): Promise<void>;
  read(file: string): Promise<string>;
  /** Adds to the version. */
  raise(by: number): Promise<void>;
  remove(): Promise<void>;
}

/** Starts as a copy of the program's own schema. */
export async function makeUpSchema(): Promise<MadeUpSchema> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-schema-"));
  await cp(SQL_FOLDER, folder, { recursive: true });
  return {
    folder,
    write: async (file, text) =>
      text === undefined ? rm(path.join(folder, file)) : writeFile(path.join(folder, file), text),
    read: (file) => readFile(path.join(folder, file), "utf8"),
    raise: (by) => raise(folder, by),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The schema with the frozen migrations up to that one, and nothing else. */
export async function frozenSchema(last: string): Promise<MadeUpSchema> {
  const schema = await makeUpSchema();
  for (const name of ["views", "functions", "triggers", "grants"]) {
    await rm(path.join(schema.folder, name), { recursive: true });
    await mkdir(path.join(schema.folder, name));
  }
  const later = (await readdir(path.join(schema.folder, "migrations"))).filter(
    (file) => file > `${last}.sql`,
  );
  for (const file of later) await schema.write(`migrations/${file}`, undefined);
  await raise(schema.folder, 1 - readChecksums(SQL_FOLDER).version);
  return schema;
}

async function raise(folder: string, by: number): Promise<void> {
  const { version } = readChecksums(folder);
  await writeFile(path.join(folder, CHECKSUMS), JSON.stringify({ version: version + by, files: {} }));
}
