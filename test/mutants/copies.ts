import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { command, ROOT } from "../tooling/command.ts";

/** Temporary copies of the sources. */
export interface Copies {
  readonly folders: readonly string[];
  remove(): Promise<void>;
}

/** Copies all files of the checkout that git does not ignore, and links its node_modules. */
export async function copySources(count: number): Promise<Copies> {
  const { code, output } = await command("git", [
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
  ]);
  if (code !== 0) throw new Error(`git ls-files failed, mutants need a git checkout: ${output}`);
  const files = new Set(output.split("\0").filter((file) => file !== ""));
  const base = await mkdtemp(path.join(os.tmpdir(), "toolgate-mutants-"));
  const folders = Array.from({ length: count }, (_, index) => path.join(base, String(index + 1)));
  const remove = () => rm(base, { recursive: true, force: true });
  try {
    const [first, ...others] = folders;
    if (first !== undefined) await copyInto(first, files);
    for (const other of others) await cp(first ?? ROOT, other, { recursive: true, verbatimSymlinks: true });
  } catch (error) {
    await remove();
    throw error;
  }
  return { folders, remove };
}

async function copyInto(folder: string, files: ReadonlySet<string>): Promise<void> {
  await mkdir(folder);
  for (const file of files) {
    // git still lists a file whose deletion is not committed.
    await cp(path.join(ROOT, file), path.join(folder, file)).catch((error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    });
  }
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"), "dir");
}
