import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { command, ROOT } from "../tooling/command.ts";

/** The code of the test protos; Git ignores it. */
const GENERATED = "test/httpjson/gen";
const PROTOS = "test/httpjson/proto";
const [CONFIG, TEMPLATE] = ["test/httpjson/buf.yaml", "test/httpjson/buf.gen.yaml"];
/** package.json has the exact versions of buf and protoc-gen-es. */
const INPUTS = [
  "package.json",
  "proto/google/api",
  "proto/httpjson",
  "src/httpjson",
  PROTOS,
  CONFIG,
  TEMPLATE,
];

/** Generates before the tests of a project, and again before each run of `npm run test:watch`. */
export async function setup(project: TestProject): Promise<void> {
  await generateTestCode();
  project.onTestsRerun(generateTestCode);
}

/** Generates the code of the test protos unless its inputs are unchanged. Throws buf's message. */
export async function generateTestCode(): Promise<void> {
  const wanted = await digestOf(INPUTS);
  if ((await currentDigest()) === wanted) return;
  const fresh = await mkdtemp(path.join(ROOT, `${GENERATED}-`));
  try {
    const options = ["--config", CONFIG, "--template", TEMPLATE, "-o", fresh];
    const { code, output } = await command("buf", ["generate", PROTOS, ...options]);
    if (code !== 0) throw new Error(output);
    await writeFile(path.join(fresh, GENERATED, ".inputs"), wanted);
    // Another process may have generated the same meanwhile, and its readers have started.
    if ((await currentDigest()) === wanted) return;
    await rm(path.join(ROOT, GENERATED), { recursive: true, force: true });
    await rename(path.join(fresh, GENERATED), path.join(ROOT, GENERATED));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function currentDigest(): Promise<string | undefined> {
  return readFile(path.join(ROOT, GENERATED, ".inputs"), "utf8").catch(() => undefined);
}

/** SHA-256 over the names and bytes of files and of all files below folders. */
async function digestOf(names: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of (await Promise.all(names.map(filesBelow))).flat()) {
    hash.update(`${file}\0`).update(await readFile(path.join(ROOT, file)));
  }
  return hash.digest("hex");
}

async function filesBelow(name: string): Promise<string[]> {
  if (path.extname(name) !== "") return [name];
  const entries = await readdir(path.join(ROOT, name), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => path.relative(ROOT, path.join(entry.parentPath, entry.name))).sort();
}
