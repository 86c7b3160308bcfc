import { barText, figure, isMet, limitOf, verdict, type Line } from "./report.ts";

/** Lines under one heading. */
export interface PlotGroup {
  readonly title: string;
  readonly lines: readonly Line[];
}

const ROW = 22;
const LABEL_WIDTH = 400;
/** Scale: values beyond this multiple of the bar end in an arrow. */
const TIMES = 2;
const BARS_WIDTH = 260;
const WIDTH = LABEL_WIDTH + BARS_WIDTH + 190;
/** Letters of a label that fit. */
const LABEL_LETTERS = 60;

/** Blue and orange are distinct for colour-blind readers; labels repeat the meaning. */
const STYLE = `
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 } .paper { fill: #ffffff } .met { fill: #0072b2 } .missed { fill: #d55e00 }
  .line { stroke: #1f2328; stroke-width: 1.5 } .grid { stroke: #d0d7de }
  .axis { fill: #59636e; font-size: 12px }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .paper { fill: #0d1117 } .met { fill: #56b4e9 } .missed { fill: #ff9e4a }
    .line { stroke: #e6edf3 } .grid { stroke: #3d444d } .axis { fill: #9198a1 }
  }`;

/** Draws each figure relative to its bar, the vertical line. Longer is always better. */
export function drawPlot(groups: readonly PlotGroup[]): string {
  const drawn: string[] = [];
  let y = 34;
  for (const { title, lines } of groups) {
    drawn.push(text(12, y + 16, title, "title"));
    y += ROW + 4;
    for (const line of lines) {
      drawn.push(...row(line, y));
      y += ROW;
    }
    y += 8;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" ` +
      `height="${y}" role="img">`,
    `<title>${escaped(describePlot(groups))}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="paper" width="${WIDTH}" height="${y}"/>`,
    ...axis(y),
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

/** The plot as text. */
export function describePlot(groups: readonly PlotGroup[]): string {
  return groups
    .flatMap(({ lines }) => lines)
    .map((line) => `${line.measure} ${figure(line.value)} (bar ${barText(line.bar)}, ${verdict(line)})`)
    .join("; ");
}

function axis(height: number): string[] {
  return [0, 0.5, 1, 1.5].flatMap((times) => {
    const x = LABEL_WIDTH + (times / TIMES) * BARS_WIDTH;
    const name = times === 1 ? "the bar" : `${times}x`;
    return [
      `<line class="${times === 1 ? "line" : "grid"}" x1="${x}" x2="${x}" y1="28" y2="${height - 8}"/>`,
      `<text class="axis" x="${x}" y="20" text-anchor="middle">${name}</text>`,
    ];
  });
}

function row(line: Line, y: number): string[] {
  const reached = timesReached(line);
  const width = (Math.min(reached, TIMES) / TIMES) * BARS_WIDTH;
  const arrow = reached > TIMES ? `l8,${(ROW - 8) / 2} l-8,${(ROW - 8) / 2}` : `v${ROW - 8}`;
  const label =
    line.measure.length > LABEL_LETTERS ? `${line.measure.slice(0, LABEL_LETTERS - 1)}…` : line.measure;
  return [
    `<path class="${isMet(line) ? "met" : "missed"}" d="M${LABEL_WIDTH},${y + 4} h${width.toFixed(1)} ` +
      `${arrow} H${LABEL_WIDTH} z"/>`,
    `<text x="${LABEL_WIDTH - 8}" y="${y + 16}" text-anchor="end">${escaped(label)}</text>`,
    text(LABEL_WIDTH + BARS_WIDTH + 16, y + 16, `${figure(line.value)}, bar ${barText(line.bar)}`),
  ];
}

/** The figure as a multiple of its bar. */
function timesReached({ value, bar }: Line): number {
  const limit = limitOf(bar);
  if ("atLeast" in bar) return Math.max(0, value / limit);
  return value <= 0 ? Number.POSITIVE_INFINITY : limit / value;
}

function text(x: number, y: number, content: string, style?: string): string {
  const styled = style === undefined ? "" : ` class="${style}"`;
  return `<text x="${x}" y="${y}"${styled}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
