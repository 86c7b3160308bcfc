import { readFile, readlink, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError, errorCode } from "./error.ts";

/** How long a running server may take to end by itself, ms: its parent may have just died. */
const patience = { ready: 2_000, stopping: 30_000 };

/**
 * Waits until no server runs on the data folder: waits for a stopping server, ignores the lock file of a
 * killed one, even if another process now has its process id.
 *
 * @throws EmbeddedPostgresError when another server keeps running there
 */
export async function waitUntilUnused(dataFolder: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const server = await runningServer(dataFolder);
    if (server === undefined) return;
    if (performance.now() - began > patience[server.state]) throw alreadyRunning(dataFolder, server.pid);
    await sleep(50);
  }
}

export function alreadyRunning(dataFolder: string, pid: number | undefined): EmbeddedPostgresError {
  const which = pid === undefined ? "PostgreSQL" : `PostgreSQL (process ${pid})`;
  return new EmbeddedPostgresError(
    `${which} is already running on ${path.dirname(dataFolder)}. Stop the Toolgate that started it, ` +
      "or point DATA_DIR to another folder.",
  );
}

/** Whether a process with this id exists, ours or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

/** Reads postmaster.pid: process id on line 1, state on line 8 (`miscadmin.h`, LOCK_FILE_LINE_*). */
async function runningServer(
  dataFolder: string,
): Promise<{ pid: number; state: "ready" | "stopping" } | undefined> {
  const lockFile = path.join(dataFolder, "postmaster.pid");
  const lines = (await readFile(lockFile, "utf8").catch(() => "")).split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined;
  if (await worksElsewhere(pid, dataFolder)) {
    // PostgreSQL checks only the id and would refuse to start. Its own guard against surviving children, the
    // shared memory segment named after the data folder, does not need the file.
    await rm(lockFile, { force: true });
    return undefined;
  }
  return { pid, state: lines[7]?.trim() === "stopping" ? "stopping" : "ready" };
}

/** Whether the process is no server of this folder, which is a server's working directory; dead: none. */
async function worksElsewhere(pid: number, dataFolder: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  try {
    return (await readlink(`/proc/${pid}/cwd`)) !== dataFolder;
  } catch (error) {
    return errorCode(error) === "ENOENT";
  }
}
