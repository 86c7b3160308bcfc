import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { command, ROOT, type Finished } from "./command.ts";

/** The folders that are generated, whole. */
const GENERATED = ["gen", "docs/reference/api"];

/**
 * Whether gen/ and docs/reference/api match the proto files, and the pages of test/reference the definitions.
 * Generates into another folder and compares byte by byte: a diff against the last commit would report
 * uncommitted changes.
 */
export async function generatedCodeIsCurrent(signal?: AbortSignal): Promise<Finished> {
  const fresh = await mkdtemp(path.join(os.tmpdir(), "toolgate-gen-"));
  try {
    const generated = await command("buf", ["generate", "--template", "proto/buf.gen.yaml", "-o", fresh], {
      signal,
    });
    if (generated.code !== 0) return generated;
    const compared = GENERATED.map((folder) =>
      compareTrees(path.join(ROOT, folder), path.join(fresh, folder), folder),
    );
    const differences = (await Promise.all(compared)).flat().map((line) => `${line}\n`);
    const pages = await command("node", ["test/reference/main.ts", "--check"], { signal });
    if (differences.length === 0 && pages.code === 0) return pages;
    return { code: 1, output: `${differences.join("")}${pages.output}Run: npm run generate\n` };
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/**
 * Every file in which the committed folder is not the fresh one, as lines to read that call the folder by its
 * name.
 */
export async function compareTrees(committed: string, fresh: string, name: string): Promise<string[]> {
  const [old, now] = await Promise.all([filesBelow(committed), filesBelow(fresh)]);
  const differences: string[] = [];
  for (const file of [...new Set([...old, ...now])].sort()) {
    if (!now.has(file)) differences.push(`${name}/${file}: no proto file generates it`);
    else if (!old.has(file)) differences.push(`${name}/${file}: is missing`);
    else if (!(await sameBytes(path.join(committed, file), path.join(fresh, file)))) {
      differences.push(`${name}/${file}: is not what the proto files generate`);
    }
  }
  return differences;
}

async function filesBelow(folder: string): Promise<Set<string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Set(files.map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name))));
}

async function sameBytes(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([readFile(one), readFile(other)]);
  return left.equals(right);
}
