import os from "node:os";
import process from "node:process";

/** A run that a signal can end. */
export interface Stop {
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  /** 128 + the signal's number, as in shells; undefined before a signal. */
  exitCode(): number | undefined;
}

/** Ends running tools on a signal, so that no process is left behind. */
export function stopOnSignals(): Stop {
  const controller = new AbortController();
  let code: number | undefined;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => {
      code = 128 + os.constants.signals[name];
      controller.abort();
    });
  }
  return { signal: controller.signal, exitCode: () => code };
}
