import type { Rate } from "./measure.ts";
import { barText, figure, verdict, type Line } from "./report.ts";

/** Every line against its bar, in Markdown. */
export function barTable(lines: readonly Line[]): string {
  return markdownTable([
    ["measure", "gateway", "compared with", "ratio", "least – most", "bar", ""],
    ...lines.map((line) => [
      ...[line.measure, line.gateway, line.peer],
      ...[figure(line.value), rangeText(line), barText(line.bar), verdict(line)],
    ]),
  ]);
}

/** Durations on both sides in Markdown; undefined if the lines compare no calls. */
export function callTable(lines: readonly Line[]): string | undefined {
  // Lines of one comparison carry the same rates.
  const compared = new Map(
    lines.flatMap(({ calls }) => (calls ? [[`${calls.what} ${calls.peer}`, calls]] : [])),
  );
  if (compared.size === 0) return undefined;
  return markdownTable([
    ["calls", "server", "per second", "server CPU", "p50", "p99"],
    ...[...compared.values()].flatMap(({ what, peer, gatewayRate, peerRate }) => [
      [what, "the gateway", ...rateCells(gatewayRate)],
      ["", peer, ...rateCells(peerRate)],
    ]),
  ]);
}

/** A table, aligned, so that it reads well in a terminal and as source. */
export function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const draw = (row: readonly string[]) =>
    `| ${widths.map((width, n) => (row[n] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [draw(head), rule, ...rows.map(draw)].join("\n");
}

function rangeText({ range }: Line): string {
  return range ? `${figure(range.least)} – ${figure(range.most)}` : "";
}

function rateCells({ perSecond, cpuMicros, p50Ms, p99Ms }: Rate): string[] {
  const millis = (value: number | undefined) =>
    value === undefined ? "" : `${value.toFixed(value < 10 ? 2 : 1)} ms`;
  return [
    perSecond.toFixed(0),
    cpuMicros === undefined ? "" : `${cpuMicros.toFixed(0)} us`,
    millis(p50Ms),
    millis(p99Ms),
  ];
}
