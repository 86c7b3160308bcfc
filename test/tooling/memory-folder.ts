import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

const MEMORY = "/dev/shm";
const GIB = 2 ** 30;
/** The databases of a run take at most half of it. */
const NEEDED_BYTES = 3 * GIB;
/** Resources of a whole test run. */
const FREE_BYTES = 8 * GIB;
const NAME = /^toolgate-tests-(\d+)-/;

/**
 * A folder in memory for the databases of a run, where there is enough of it: on a disk, every commit and
 * every DROP DATABASE waits until all that was written is flushed.
 *
 * @returns undefined where there is too little
 */
export function openMemoryFolder(): string | undefined {
  try {
    removeAbandoned();
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < NEEDED_BYTES || process.availableMemory() < FREE_BYTES) return undefined;
    const folder = mkdtempSync(path.join(MEMORY, `toolgate-tests-${process.pid}-`));
    chmodSync(folder, 0o755); // as root, the server's account has to get in
    return folder;
  } catch {
    return undefined;
  }
}

/** Removes a folder of a run; leaves what a process that does not end still writes into it. */
export async function removeRunFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

/** Removes the folders of runs that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      rmSync(path.join(MEMORY, name), { recursive: true, force: true });
    } catch {
      // Another user's.
    }
  }
}
