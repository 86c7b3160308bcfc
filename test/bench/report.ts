import { median, type Figure, type Round } from "./measure.ts";

export interface Line {
  readonly measure: string;
  readonly gateway: string;
  /** What it is compared with, and its figure. */
  readonly peer: string;
  /** Gateway / peer, the median over the rounds; absent where only the gateway is measured. */
  readonly ratio?: number | undefined;
  /** The least and the greatest of the rounds. */
  readonly range?: { readonly least: number; readonly most: number } | undefined;
}

const TEXT: Readonly<Record<Figure, (value: number) => string>> = {
  perSecond: (value) => `${value.toFixed(0)}/s`,
  cpuMicros: (value) => `${value.toFixed(0)} us`,
  databaseMicros: (value) => `PostgreSQL ${value.toFixed(0)} us`,
  totalMicros: (value) => `${value.toFixed(0)} us with PostgreSQL`,
  p50Ms: (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`,
  p99Ms: (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`,
};

/** A row: the ratio of the first figure, and the medians of all that are named. */
export function line(measure: string, rounds: readonly Round[], peer: string, figures: Figure[]): Line {
  const [main = "perSecond"] = figures;
  const ratios = rounds.flatMap(({ gateway: { [main]: ours }, peer: { [main]: theirs } }) =>
    ours === undefined || !theirs ? [] : [ours / theirs],
  );
  const shown = (side: keyof Round) =>
    figures.flatMap((figure) => {
      const value = median(rounds.flatMap((round) => round[side][figure] ?? []));
      return value === undefined ? [] : [TEXT[figure](value)];
    });
  return {
    ...{ measure, gateway: shown("gateway").join(", "), peer: [peer, shown("peer").join(", ")].join(" ") },
    ratio: median(ratios),
    range: ratios.length > 1 ? { least: Math.min(...ratios), most: Math.max(...ratios) } : undefined,
  };
}

/** A row of one figure on both sides. @param unit such as "s" */
export function plainLine(measure: string, ours: number, peer: string, theirs: number, unit: string): Line {
  const text = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`;
  return { measure, gateway: text(ours), peer: `${peer} ${text(theirs)}`, ratio: ours / theirs };
}

export interface Group {
  readonly title: string;
  readonly why: string;
  /** None: not measured yet. */
  readonly lines: readonly Line[] | undefined;
}

const UNMEASURED: Line = { measure: "", gateway: "not yet measured with this program", peer: "" };

/** One Markdown table of all groups, aligned for terminals up to the last column. */
export function tableOf(groups: readonly Group[]): string {
  const head = ["comparison", "gateway", "compared with", "ratio", "why it matters"];
  const rows = groups.flatMap(({ title, why, lines = [UNMEASURED] }) =>
    lines.map(({ measure, gateway, peer, ...rest }, at) => [
      ...[measure === "" ? title : `${title}: ${measure}`, gateway, peer, ratioText(rest)],
      at === 0 ? why : "",
    ]),
  );
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const draw = (row: string[]) =>
    `| ${row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0))).join(" | ")} |`;
  return [draw(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(draw)].join("\n");
}

function ratioText({ ratio, range }: Pick<Line, "ratio" | "range">): string {
  if (ratio === undefined) return "";
  const text = (value: number) => value.toFixed(Math.abs(value) < 0.2 ? 3 : 2);
  return range ? `${text(ratio)} (${text(range.least)}–${text(range.most)})` : text(ratio);
}
