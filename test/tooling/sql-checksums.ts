import { writeFile } from "node:fs/promises";
import path from "node:path";
import {
  CHECKSUMS,
  readChecksums,
  readSqlSchema,
  SQL_FOLDER,
} from "../../src/postgres/database/sql-files.ts";
import type { Finished } from "./command.ts";

/** Longest function, lines. */
const MAX_LINES = 120;

/** Problems of the SQL files, one line each. */
export function sqlProblems(folder: string): string[] {
  const { frozen, repeatable } = readSqlSchema(folder);
  const { files } = readChecksums(folder);
  const problems: string[] = [];
  frozen.forEach(({ name, path: file, checksum }, index) => {
    if (!name.startsWith(`${String(index + 1).padStart(4, "0")}_`))
      problems.push(`${file}.sql: migrations are numbered without gaps`);
    const committed = files.get(`${file}.sql`);
    if (committed !== undefined && committed !== checksum)
      problems.push(`${file}.sql: is frozen and was changed; restore it and add a migration`);
  });
  for (const { path: file, text } of repeatable)
    if (text.split("\n").length > MAX_LINES) problems.push(`${file}.sql: has more than ${MAX_LINES} lines`);
  const current = currentChecksums(folder);
  const stale = [...new Set([...files.keys(), ...Object.keys(current)])].filter(
    (file) => files.get(file) !== current[file],
  );
  if (problems.length === 0)
    problems.push(...stale.map((file) => `${file}: ${CHECKSUMS} is not current; run: npm run sql`));
  return problems;
}

/** The part of `npm run check`. */
export function sqlIsCurrent(): Promise<Finished> {
  const problems = sqlProblems(SQL_FOLDER);
  const output = problems.map((line) => `src/postgres/database/sql/${line}\n`).join("");
  return Promise.resolve({ code: problems.length === 0 ? 0 : 1, output });
}

/**
 * Writes the checksums of all files and increments the version after a change.
 * @returns problems to fix first; then nothing is written
 */
export async function updateChecksums(folder: string): Promise<string[]> {
  const problems = sqlProblems(folder);
  const mended = problems.filter((line) => !line.includes(CHECKSUMS));
  if (mended.length > 0 || problems.length === 0) return mended;
  const { version, files: committed } = readChecksums(folder);
  const files = currentChecksums(folder);
  const content = { version: committed.size === 0 ? version : version + 1, files };
  await writeFile(path.join(folder, CHECKSUMS), `${JSON.stringify(content, null, 2)}\n`);
  return [];
}

function currentChecksums(folder: string): Record<string, string> {
  const { frozen, repeatable } = readSqlSchema(folder);
  return Object.fromEntries(
    [...frozen, ...repeatable].map(({ path: file, checksum }) => [`${file}.sql`, checksum]),
  );
}
