import { lstat, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

/** What stands in a folder of copies: a version, or something that belongs to one. */
const ENTRY = /^(?<version>[0-9a-f]{16})(?:\.(?:used-by-(?<pid>\d+)|[0-9a-f]{12}))?$/;

/** Younger copies are left alone, whoever uses them, ms: one may be on its way, or be used from a container that shares the folder. */
const YOUNG_MS = 3_600_000;

/** Marks a version as used by this process, so that no other one takes it away. */
export async function markCopyUsed(folder: string, version: string): Promise<void> {
  await writeFile(path.join(folder, `${version}.used-by-${process.pid}`), "");
}

/** Takes away the versions that no process uses any more, what was never finished, and the marks of processes that are over. */
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
    // Away at once, not file by file: nobody starts anything from half of it.
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
    // Somebody else's is alive as well.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
