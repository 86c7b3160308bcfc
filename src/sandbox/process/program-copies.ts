import { lstat, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

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
