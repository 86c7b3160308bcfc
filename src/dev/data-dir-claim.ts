import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { errorCode } from "./embedded-postgres/error.ts";
import { isAlive } from "./embedded-postgres/postmaster.ts";

/** Another dev has the data directory open. */
export class DataDirInUseError extends Error {
  override name = "DataDirInUseError";
}

/** Claims the data directory by `dev.lock`. @returns releases it. @throws DataDirInUseError */
export function claimDataDir(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true });
  const lock = path.join(dataDir, "dev.lock");
  const mine = `${lock}.${process.pid}`;
  const claim = claimOf(process.pid);
  writeFileSync(mine, claim, { mode: 0o600 });
  try {
    // A link appears together with its content.
    while (!linked(mine, lock)) {
      const theirs = read(lock);
      const pid = Number(theirs.split(" ")[0]);
      if (theirs !== "" && theirs !== claim && isAlive(pid) && claimOf(pid) === theirs) {
        throw new DataDirInUseError(
          `Toolgate is already running on ${dataDir} (process ${pid}). Stop it first, or point ` +
            "DATA_DIR to another folder.",
        );
      }
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return () => {
    if (read(lock) === claim) rmSync(lock, { force: true });
  };
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Process ids are used again: on Linux the start time (proc_pid_stat(5), field 22) distinguishes them. */
function claimOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  const startTime = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  return `${pid} ${startTime}\n`;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
