import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { readSqlSchema, SQL_FOLDER } from "../../src/postgres/database/sql-files.ts";
import { makeUpSchema } from "../postgres/database/made-up-schema.ts";
import { command, ROOT } from "../tooling/command.ts";

/** A version of the program. */
export interface Program {
  readonly name: string;
  readonly root: string;
  /** Its SQL files. */
  readonly schema: string;
}

/** What a program runs from, beside its packages. */
const PARTS = ["src", "gen", "package.json"];

export const PRESENT: Program = { name: "present", root: ROOT, schema: SQL_FOLDER };

/**
 * Copies the version before from git: the last release, or before the first one the program before the last
 * migration. It runs with the packages of this checkout.
 * @returns undefined where git does not have it, as in a shallow clone
 */
export async function versionBefore(): Promise<Program | undefined> {
  const last = path.relative(ROOT, path.join(SQL_FOLDER, `${readSqlSchema().frozen.at(-1)?.path}.sql`));
  const commit =
    (await git("describe", "--tags", "--abbrev=0", "--match=v*", "HEAD^")) ??
    (await git("log", "-1", "--diff-filter=A", "--format=%H^", "--", last));
  if (commit === undefined || (await git("cat-file", "-t", `${commit}:${PARTS[0]}`)) !== "tree")
    return undefined;
  const root = await emptyRoot();
  const tar = path.join(root, "program.tar");
  await git("archive", `--output=${tar}`, commit, "--", ...PARTS);
  const { code, output } = await command("tar", ["-xf", tar, "-C", root]);
  if (code !== 0) throw new Error(output);
  return programIn(root, (await git("describe", "--always", commit)) ?? commit);
}

/** Makes up the version after: a copy of this one with a new migration, and every other SQL file changed. */
export async function versionAfter(): Promise<Program> {
  const [root, next] = [await emptyRoot(), await makeUpSchema()];
  const { frozen, repeatable } = readSqlSchema();
  const number = String(frozen.length + 1).padStart(4, "0");
  await next.write(`migrations/${number}_made_up.sql`, "alter table run add column made_up text;");
  for (const { path: file, text } of repeatable) await next.write(`${file}.sql`, `${text}\n`);
  await next.raise(1);
  for (const part of PARTS) await cp(path.join(ROOT, part), path.join(root, part), { recursive: true });
  const program = programIn(root, "made-up");
  await rm(program.schema, { recursive: true });
  await cp(next.folder, program.schema, { recursive: true });
  await next.remove();
  return program;
}

export async function removeProgram({ root }: Program): Promise<void> {
  if (root !== ROOT) await rm(root, { recursive: true, force: true });
}

async function emptyRoot(): Promise<string> {
  const root = await mkdtemp(path.join(os.tmpdir(), "toolgate-version-"));
  await symlink(path.join(ROOT, "node_modules"), path.join(root, "node_modules"));
  return root;
}

function programIn(root: string, name: string): Program {
  return { name, root, schema: path.join(root, path.relative(ROOT, SQL_FOLDER)) };
}

/** @returns its output; undefined when it fails or says nothing */
async function git(...args: readonly string[]): Promise<string | undefined> {
  const { code, output } = await command("git", args);
  return code === 0 && output.trim() !== "" ? output.trim() : undefined;
}
