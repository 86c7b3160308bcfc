import os from "node:os";
import process from "node:process";
import type { Logger } from "../log.ts";

const STOPS = ["SIGTERM", "SIGINT"] as const;

/** Acts on SIGTERM and SIGINT, each time. @returns what ends that */
export function onStop(act: (signal: (typeof STOPS)[number]) => void): () => void {
  for (const name of STOPS) process.on(name, act);
  return () => {
    for (const name of STOPS) process.off(name, act);
  };
}

/** Logs SIGHUP instead of ending: a terminal that closes must not break calls off. */
export function ignoreHangUp(log: Logger): void {
  process.on("SIGHUP", () =>
    log.info({ signal: "SIGHUP" }, "signal ignored: the settings are read at the start only"),
  );
}

/** The exit code of a program that a signal has ended, as shells count it. */
export function exitCodeOf(signal: (typeof STOPS)[number]): number {
  return 128 + os.constants.signals[signal];
}
