import process from "node:process";
import { styleText } from "node:util";

import type { Finished } from "./command.ts";
import type { Part } from "./parts.ts";

/** Progress output: `process.stdout`, or a list in tests. */
export interface Out {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Coloured on terminals only, regardless of the environment. */
export function paint(out: Out, format: "green" | "red" | "bold", text: string): string {
  return out.isTTY ? styleText(format, text, { stream: process.stdout }) : text;
}

/** How many parts held and how many did not. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

/** Type checking and linting each use more than one thread, so that two at once fill two cores. */
const AT_ONCE = 2;

/** Longer than any part takes on a machine that does much else, ms. */
const LIMIT_MS = 600_000;

/**
 * Runs the parts, two at a time, and prints one line for each: name, time and the output of a failure. A part
 * that throws or exceeds `limitMs` fails; its abort is not awaited.
 */
export async function runParts(
  parts: readonly Part[],
  out: Out,
  signal?: AbortSignal,
  limitMs = LIMIT_MS,
): Promise<Tally> {
  const waiting = [...parts];
  const width = Math.max(...parts.map((part) => part.name.length));
  let failed = 0;
  const worker = async (): Promise<void> => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const start = performance.now();
      const { code, output } = await withLimit(part, signal, limitMs);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      const verdict = code === 0 ? paint(out, "green", "ok  ") : paint(out, "red", "FAIL");
      out.write(`${verdict} ${part.name.padEnd(width)} ${seconds.padStart(5)} s\n`);
      if (code === 0) continue;
      failed += 1;
      out.write(indent(output.trim() === "" ? `exit code ${code}` : output));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { passed: parts.length - failed, failed };
}

async function withLimit(part: Part, signal: AbortSignal | undefined, limitMs: number): Promise<Finished> {
  const limit = new AbortController();
  const signals = signal ? [signal, limit.signal] : [limit.signal];
  const { promise: late, resolve } = Promise.withResolvers<Finished>();
  const timer = setTimeout(() => {
    resolve({
      code: 1,
      output: `HUNG ${part.name}: not at its end after ${Math.round(limitMs / 1_000)} s\n`,
    });
    limit.abort();
  }, limitMs);
  const ended = part
    .run(AbortSignal.any(signals))
    .catch((error: unknown) => ({ code: 1, output: `${String(error)}\n` }));
  try {
    return await Promise.race([late, ended]);
  } finally {
    clearTimeout(timer);
  }
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "     ") + "\n";
}
