import os from "node:os";
import process from "node:process";

const STOPS = ["SIGTERM", "SIGINT"] as const;

/** Acts on SIGTERM and SIGINT, each time. @returns what ends that */
export function onStop(act: (signal: (typeof STOPS)[number]) => void): () => void {
  for (const name of STOPS) process.on(name, act);
  return () => {
    for (const name of STOPS) process.off(name, act);
  };
}

/** The exit code of a program that a signal has ended, as shells count it. */
export function exitCodeOf(signal: (typeof STOPS)[number]): number {
  return 128 + os.constants.signals[signal];
}
