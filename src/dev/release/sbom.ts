import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { z } from "zod";
import { ROOT, run } from "./tools.ts";

const manifest = z.looseObject({ overrides: z.record(z.string(), z.string()) });
/** Peers of which the lock file has another version than their dependents ask for; npm sbom refuses them. */
const PEERS = ["typescript", "utf-8-validate"];
const lockFile = z.object({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })),
});

/** Writes the list of production packages (CycloneDX), from the lock file. */
export async function writeSbom(file: string): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-sbom-"));
  try {
    const { packages } = lockFile.parse(await json("package-lock.json"));
    const { overrides, ...rest } = manifest.parse(await json("package.json"));
    const versions: Record<string, string | undefined> = {};
    for (const name of PEERS) versions[name] = packages[`node_modules/${name}`]?.version;
    await copyFile(path.join(ROOT, "package-lock.json"), path.join(folder, "package-lock.json"));
    const written: object = { ...rest, overrides: { ...overrides, ...versions } };
    await writeFile(path.join(folder, "package.json"), JSON.stringify(written));
    const args = ["sbom", "--prefix", folder, "--package-lock-only", "--sbom-format=cyclonedx", "--omit=dev"];
    await writeFile(file, await run("npm", ...args));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function json(name: string): Promise<unknown> {
  return JSON.parse(await readFile(path.join(ROOT, name), "utf8"));
}
