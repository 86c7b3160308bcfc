import {
  chmod,
  constants,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
} from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { EmbeddedPostgresError, errorCode } from "./error.ts";

/**
 * Copies of a platform package in folders that every account may enter, created on demand: one per temporary
 * folder of the system. A copy appears by one rename, so it is complete. It must be owned by us, or another
 * user could replace its programs. Later runs use it again unless files are missing.
 * @returns the folder of each copy, or the reason why there is none
 */
export async function* cachedCopy(
  source: string,
  onProgress: (text: string) => void,
): AsyncGenerator<{ folder: string } | string> {
  const name = `toolgate-postgres-${await versionOf(source)}-${process.platform}-${process.arch}-${process.geteuid?.() ?? 0}`;
  for (const parent of new Set([os.tmpdir(), "/var/tmp", "/tmp"])) {
    const folder = path.join(parent, name);
    try {
      if (!(await isCompleteCopy(source, folder))) {
        onProgress(`Copying PostgreSQL to ${folder}, from where the server's account can run it`);
        await makeCopy(source, folder);
      }
      yield { folder };
    } catch (error) {
      yield `${folder}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

async function makeCopy(source: string, folder: string): Promise<void> {
  const staging = await mkdtemp(`${folder}.new-`);
  await chmod(staging, 0o755);
  for (const { name, mode } of await filesOf(source)) {
    const copy = path.join(staging, name);
    await mkdir(path.dirname(copy), { recursive: true, mode: 0o755 });
    await copyFile(path.join(source, name), copy, constants.COPYFILE_FICLONE);
    await chmod(copy, mode & 0o111 ? 0o755 : 0o644);
  }
  for (const entry of await readdir(staging, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(path.join(entry.parentPath, entry.name), 0o755);
  }
  const incomplete = `${staging}.old`;
  await rename(folder, incomplete).catch(ignore("ENOENT"));
  await rename(staging, folder).catch(async (error: unknown) => {
    await rm(staging, { recursive: true, force: true });
    ignore("ENOTEMPTY", "EEXIST")(error); // another process finished the same copy first
  });
  await rm(incomplete, { recursive: true, force: true });
}

/** @throws EmbeddedPostgresError when the folder exists but others could have written into it */
async function isCompleteCopy(source: string, folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(ignore("ENOENT"));
  if (found === undefined) return false;
  if (
    !found.isDirectory() ||
    found.uid !== (process.geteuid?.() ?? found.uid) ||
    (found.mode & 0o022) !== 0
  ) {
    throw new EmbeddedPostgresError("exists and belongs to another user");
  }
  const there = new Map((await filesOf(folder)).map((file) => [file.name, file.size]));
  return (await filesOf(source)).every((file) => there.get(file.name) === file.size);
}

/** The regular files below a folder. Skips links: a copy recreates them. */
async function filesOf(folder: string): Promise<{ name: string; size: number; mode: number }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  return Promise.all(
    files.map(async (file) => {
      const { size, mode } = await lstat(file);
      return { name: path.relative(folder, file), size, mode };
    }),
  );
}

async function versionOf(folder: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "unversioned";
}

function ignore(...codes: string[]): (error: unknown) => undefined {
  return (error) => {
    if (!codes.includes(errorCode(error) ?? "")) throw error;
    return undefined;
  };
}
