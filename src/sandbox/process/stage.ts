import { createHash, randomBytes } from "node:crypto";
import { chmod, cp, lstat, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { removeUnusedCopies, markCopyUsed } from "./program-copies.ts";
import type { Programs } from "./programs.ts";

/** Whether all users can read the file, or every file of the folder. */
async function isOpen(place: string): Promise<boolean> {
  const found = await stat(place);
  if (found.isFile()) return (found.mode & 0o004) !== 0;
  if ((found.mode & 0o005) !== 0o005) return false;
  const entries: string[] = await readdir(place);
  const open = await Promise.all(entries.map((entry) => isOpen(path.join(place, entry))));
  return open.every(Boolean);
}

/** Whether all users can traverse the parent folders. */
async function isReachable(place: string): Promise<boolean> {
  const above = path.dirname(place);
  if (above === place) return true;
  return ((await stat(above)).mode & 0o001) !== 0 && (await isReachable(above));
}

/**
 * Returns programs an unprivileged user can read: the originals, or copies in a temporary folder, made once
 * per version. A checkout in root's home or under a strict umask is not readable.
 * @param throughFolders whether parent folders matter; inside bubblewrap they do not
 */
export async function readablePrograms(programs: Programs, throughFolders: boolean): Promise<Programs> {
  const places = [programs.deno, programs.pyodide, programs.guest];
  const open = await Promise.all(
    places.map(async (place) => (await isOpen(place)) && (!throughFolders || (await isReachable(place)))),
  );
  return open.every(Boolean) ? programs : await copies(programs);
}

async function copies(programs: Programs): Promise<Programs> {
  const own = await ownFolder();
  const version = await versionOf(programs);
  // Mark before checking, so that no other process deletes it in between.
  await markCopyUsed(own, version);
  await removeUnusedCopies(own, Date.now());
  const folder = path.join(own, version);
  const copy: Programs = {
    deno: path.join(folder, "deno"),
    pyodide: path.join(folder, "pyodide"),
    guest: path.join(folder, "guest"),
  };
  if ((await lstat(folder).catch(() => undefined)) !== undefined) return copy;
  const unfinished = `${folder}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(unfinished, { mode: 0o755 });
    for (const name of ["deno", "pyodide", "guest"] as const) {
      await cp(programs[name], path.join(unfinished, name), { recursive: true, dereference: true });
    }
    await open(unfinished);
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another gateway may have finished the copy first.
    if ((await lstat(folder).catch(() => undefined)) === undefined) throw error;
  }
  return copy;
}

/** Readable for all users, writable only for this one. */
async function open(place: string): Promise<void> {
  const isFolder = (await stat(place)).isDirectory();
  await chmod(place, 0o755);
  if (!isFolder) return;
  for (const entry of await readdir(place)) await open(path.join(place, entry));
}

/** Returns a temporary folder that only this user can write to. */
async function ownFolder(): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const folder = path.join(os.tmpdir(), `toolgate-sandbox-${uid}`);
  await mkdir(folder, { mode: 0o755 }).catch(() => {});
  await chmod(folder, 0o755).catch(() => {});
  const found = await lstat(folder);
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0) return folder;
  throw new Error(
    `${folder} is writable by other users: remove it, or install the gateway where every user can read it.`,
  );
}

/** Hashes the sizes and times of the files. */
async function versionOf(programs: Programs): Promise<string> {
  const hash = createHash("sha256");
  const note = async (place: string): Promise<void> => {
    const found = await stat(place);
    hash.update(`${place} ${found.size} ${found.mtimeMs}\n`);
    if (found.isFile()) return;
    for (const entry of (await readdir(place)).sort()) await note(path.join(place, entry));
  };
  for (const place of [programs.deno, programs.pyodide, programs.guest]) await note(place);
  return hash.digest("hex").slice(0, 16);
}
