import { machine } from "../bench/options.ts";
import { changeResults } from "../bench/results.ts";
import { soakLines, type SoakResult } from "./report.ts";

/** Keeps the figures where docs/performance.md is made of. */
export async function keep(result: SoakResult): Promise<void> {
  const command = `npm run soak -- --minutes ${Math.round(result.minutes)}`;
  const circumstances = { date: new Date().toISOString().slice(0, 10), machine: machine(), command };
  await changeResults({ parts: { soak: { ...circumstances, lines: soakLines(result) } } });
}
