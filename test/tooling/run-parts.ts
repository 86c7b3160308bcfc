import process from "node:process";
import { styleText } from "node:util";

import type { Part } from "./parts.ts";

/** Where progress is written; `process.stdout`, or a list in tests. */
export interface Out {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Coloured on a terminal, plain anywhere else, whatever the environment asks for. */
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

/**
 * Runs the parts, two at a time, and writes one line for each as it ends: its name and its time, and for a failure what it said.
 * A part that throws has failed.
 */
export async function runParts(parts: readonly Part[], out: Out, signal?: AbortSignal): Promise<Tally> {
  const waiting = [...parts];
  const width = Math.max(...parts.map((part) => part.name.length));
  let failed = 0;
  const worker = async (): Promise<void> => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      const start = performance.now();
      const { code, output } = await part
        .run(signal)
        .catch((error: unknown) => ({ code: 1, output: `${String(error)}\n` }));
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

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "     ") + "\n";
}
