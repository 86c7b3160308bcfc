import { commitOf } from "../bench/commit.ts";
import { machine } from "../bench/machine.ts";
import { writePage } from "../bench/page.ts";
import { changeResults } from "../bench/results.ts";
import { SECTIONS } from "../bench/sections.ts";
import { soakLines, type SoakResult } from "./report.ts";

/** Stores the figures of docs/explanation/performance.md and regenerates the page. */
export async function keep(result: SoakResult): Promise<void> {
  const command = `npm run soak -- --minutes ${Math.round(result.minutes)}`;
  const circumstances = {
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    commit: commitOf(),
    command,
    stolen: result.stolen,
  };
  await writePage(
    await changeResults({ parts: { soak: { ...circumstances, lines: soakLines(result) } } }),
    SECTIONS,
  );
}
