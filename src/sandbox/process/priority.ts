import { readdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { GuestProcess } from "./guest-process.ts";
import type { LaunchLine } from "./launch-line.ts";

/** Added to the nice value of processes that no caller waits for: about a tenth of a busy processor. */
const LOW = 10;

/** How long work at low priority may take before it is done again at full priority, ms. */
const PATIENCE_MS = 20_000;

/** The kernel lets an ordinary user change a session's priority ten times a second. */
const [ATTEMPTS, PAUSE_MS] = [5, 100];

/** Starts a process at low priority; all that it starts has it too. */
export function startLow(line: LaunchLine): GuestProcess {
  // By the command line: changed from here, it would miss what the process has started by then.
  const started = new GuestProcess(["nice", "-n", String(LOW), ...line]);
  if (started.pid !== undefined) setSessionPriority(started.pid, LOW);
  return started;
}

/** Raises an idle process and its session to the gateway's priority. @returns false if not allowed */
export async function raisePriority(session: number, pid: number): Promise<boolean> {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) os.setPriority(Number(thread), os.getPriority());
  } catch {
    return false;
  }
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (setSessionPriority(session, 0)) return true;
    await sleep(PAUSE_MS);
  }
  return false;
}

/** Works at low priority, and again at full priority if the machine is too busy for that. */
export async function lowFirst<Result>(
  signal: AbortSignal,
  work: (signal: AbortSignal, isLow: boolean) => Promise<Result>,
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const late = AbortSignal.timeout(patienceMs);
  try {
    return await work(AbortSignal.any([signal, late]), true);
  } catch (error) {
    if (signal.aborted || !late.aborted) throw error;
    return await work(signal, false);
  }
}

/** With autogroups (sched(7)) a nice value only counts within its session, and sessions have their own. */
function setSessionPriority(session: number, nice: number): boolean {
  try {
    writeFileSync(`/proc/${session}/autogroup`, String(nice));
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "EAGAIN");
  }
}
