import type { Comparison } from "./measure.ts";

/** One line of the table: a figure and the bar that it is held to. */
export interface Line {
  readonly measure: string;
  readonly gateway: string;
  /** What it is compared with, and how that did. */
  readonly peer: string;
  readonly value: number;
  readonly bar: { readonly atMost: number } | { readonly atLeast: number };
}

/** Whether the figure reaches its bar. */
export function isMet({ value, bar }: Line): boolean {
  return "atMost" in bar ? value <= bar.atMost : value >= bar.atLeast;
}

/** Calls per second of both sides. */
export function throughputLine(measure: string, comparison: Comparison, peer: string, atLeast: number): Line {
  return {
    measure: `${measure}: throughput`,
    gateway: `${comparison.gateway.perSecond.toFixed(0)}/s`,
    peer: `${peer} ${comparison.peer.perSecond.toFixed(0)}/s`,
    value: comparison.throughputRatio,
    bar: { atLeast },
  };
}

/** Server CPU per call of both sides; no line where it could not be measured. */
export function cpuLine(measure: string, comparison: Comparison, peer: string, atMost: number): Line[] {
  if (comparison.cpuRatio === undefined) return [];
  return [
    {
      measure: `${measure}: server CPU per call`,
      gateway: `${comparison.gateway.cpuMicros?.toFixed(0)} us`,
      peer: `${peer} ${comparison.peer.cpuMicros?.toFixed(0)} us`,
      value: comparison.cpuRatio,
      bar: { atMost },
    },
  ];
}

/** The table in Markdown, aligned, so that it reads well in a terminal and in docs/performance.md. */
export function table(lines: readonly Line[]): string {
  const rows = [
    ["measure", "gateway", "compared with", "ratio", "bar", ""],
    ...lines.map((line) => [
      line.measure,
      line.gateway,
      line.peer,
      line.value.toFixed(2),
      "atMost" in line.bar ? `<= ${line.bar.atMost}` : `>= ${line.bar.atLeast}`,
      isMet(line) ? "met" : "missed",
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const drawn = rows.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`);
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [drawn[0], rule, ...drawn.slice(1)].join("\n");
}
