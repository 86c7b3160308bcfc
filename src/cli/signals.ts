import os from "node:os";
import process from "node:process";
import type { Log } from "../domain/core/log.ts";

const STOPS = ["SIGTERM", "SIGINT"] as const;

/** Calls `act` on every SIGTERM and SIGINT. @returns a function that removes the listeners */
export function onStop(act: (signal: (typeof STOPS)[number]) => void): () => void {
  for (const name of STOPS) process.on(name, act);
  return () => {
    for (const name of STOPS) process.off(name, act);
  };
}

/** Calls `act` on every SIGHUP. */
export function onHangUp(act: () => void): void {
  process.on("SIGHUP", act);
}

/** Ignores SIGHUP, so that closing a terminal does not abort calls. */
export function ignoreHangUp(log: Log): void {
  process.on("SIGHUP", () =>
    log.info({ signal: "SIGHUP" }, "signal ignored: settings are read at start only"),
  );
}

/** Returns the shell's exit code for a process that a signal ended. */
export function exitCodeOf(signal: (typeof STOPS)[number]): number {
  return 128 + os.constants.signals[signal];
}

/**
 * A second signal within this time is a copy (ms): npm forwards each signal to a process group that already
 * received it.
 */
const DUPLICATE_SIGNAL_MS = 1_000;

/** Serves until SIGTERM or SIGINT, then closes gracefully; a second signal exits at once. */
export async function runUntilStopped(
  gateway: { close(): Promise<void> },
  log: Log,
  onStopping = () => {},
): Promise<void> {
  const signal = await new Promise(onStop);
  onStopping();
  const since = performance.now();
  onStop(() => {
    if (performance.now() - since > DUPLICATE_SIGNAL_MS) process.exit(1);
  });
  log.info({ signal }, "stopping: finishing running calls");
  await gateway.close();
  log.info({}, "stopped");
  process.exit(0);
}
