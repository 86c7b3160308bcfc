import { createHash, randomBytes } from "node:crypto";
import { chmod, cp, lstat, mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
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

/** Returns programs an unprivileged user can read: the originals, or a temporary copy per version. */
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

/** Returns a hash of the programs' paths, sizes and times. */
export async function versionOf(programs: Programs): Promise<string> {
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

/** A version, or a file that belongs to one. */
const ENTRY = /^(?<version>[0-9a-f]{16})(?:\.(?:used-by-(?<pid>\d+)|[0-9a-f]{12}))?$/;

/** Recent copies are kept: one may be unfinished, or used by a container that shares the folder. */
const YOUNG_MS = 3_600_000;

/** Marks a version as used by this process, so that others do not delete it. */
export async function markCopyUsed(folder: string, version: string): Promise<void> {
  await writeFile(path.join(folder, `${version}.used-by-${process.pid}`), "");
}

/** Deletes unused versions, unfinished copies and marks of dead processes. */
export async function removeUnusedCopies(folder: string, now: number): Promise<void> {
  const entries = (await readdir(folder)).flatMap((name) => {
    const { version, pid } = ENTRY.exec(name)?.groups ?? {};
    return version === undefined ? [] : [{ place: path.join(folder, name), name, version, pid }];
  });
  const used = new Set<string>();
  for (const { place, version, pid } of entries) {
    if (pid === undefined) continue;
    if (isAlive(Number(pid))) used.add(version);
    else await rm(place, { force: true });
  }
  for (const { place, name, version, pid } of entries) {
    if (pid !== undefined || (name === version && used.has(version))) continue;
    const found = await lstat(place).catch(() => undefined);
    if (found === undefined || now - found.ctimeMs < YOUNG_MS) continue;
    // Rename first, so that no program starts from a partly deleted copy.
    const away = path.join(folder, `${version}.000000000000`);
    const isMoved =
      name === version &&
      (await rename(place, away)
        .then(() => true)
        .catch(() => false));
    await rm(isMoved ? away : place, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that it belongs to another user, but is alive.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
