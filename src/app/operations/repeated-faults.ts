import type { Log } from "../../domain/core/log.ts";

/** Time in which a fault is logged once, ms. */
const PERIOD_MS = 10_000;

/** Faults that are counted apart. */
const MAX_COUNTED = 100;

/** What differs between repeats of one fault: numbers and identifiers. */
const VARYING = /[0-9a-f]{8,}|\d+/gi;

/** Longest text that identifies a fault, characters. */
const MAX_TEXT = 300;

/**
 * Returns a log that writes an error once in ten seconds and then how often it was repeated.
 * @param after calls back after the time, once
 */
export function withoutRepeats(log: Log, after: (ms: number, run: () => void) => void): Log {
  const repeats = new Map<string, number>();
  const report = (fault: string) => {
    const repeated = repeats.get(fault) ?? 0;
    repeats.delete(fault);
    if (repeated > 0) log.error({ event: "fault_repeated", fault, repeated }, "the same fault again");
  };
  return {
    info: (details, message) => log.info(details, message),
    warn: (details, message) => log.warn(details, message),
    error: (details, message) => {
      const fault = faultOf(details, message);
      const repeated = repeats.get(fault);
      if (repeated !== undefined) return void repeats.set(fault, repeated + 1);
      log.error(details, message);
      if (repeats.size >= MAX_COUNTED) return;
      repeats.set(fault, 0);
      after(PERIOD_MS, () => report(fault));
    },
  };
}

function faultOf(details: object, message: string): string {
  const error = "err" in details ? details.err : undefined;
  const text = error instanceof Error ? `${message}: ${error.name}: ${error.message}` : message;
  return text.slice(0, MAX_TEXT).replace(VARYING, "…");
}
