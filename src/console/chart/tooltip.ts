import type Plot from "uplot";

export interface ChartProps {
  label: string;
  /** Oldest first. */
  times: readonly Date[];
  /** Stacked from the bottom; lines are not stacked. */
  series: readonly ChartSeries[];
  /** Formats a value for the axis and the tooltip. */
  format: (value: number) => string;
  /** Formats a time for the axis. */
  formatTime: (time: Date) => string;
  /** Formats a time for the tooltip and the table. Default: `formatTime`. */
  formatFullTime?: (time: Date) => string;
  /** Address of what a value counts; undefined: none. Also a click on the chart goes there. */
  hrefOf?: (series: number, time: number) => string | undefined;
  /** Goes to an address of the console. */
  onOpen?: (href: string) => void;
  /** `bars` for totals per interval, `line` for a value over time. */
  kind?: "bars" | "line";
  /** Height in pixels, default 200. */
  height?: number;
}

/** Values of one tool, key or the like over time. */
export interface ChartSeries {
  label: string;
  /** Name of its colour, such as `--series-1`. */
  colour: string;
  /** One per time. Used for drawing only, so numbers may be rounded. */
  values: readonly number[];
  /** Exact values for the table. Default: `format` of each value. */
  texts?: readonly string[];
}

/** Returns the series of a stack at a height; undefined above it. */
export function seriesAt(series: readonly ChartSeries[], at: number, value: number): number | undefined {
  let sum = 0;
  for (const [place, { values }] of series.entries()) {
    sum += values[at] ?? 0;
    if (values[at] && value <= sum) return place;
  }
  return undefined;
}

export function tooltip(props: ChartProps, colours: readonly string[]): Plot.Plugin {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  return {
    hooks: {
      init: (plot) => {
        plot.over.append(tip);
      },
      setCursor: (plot) => {
        const { idx, left = -1 } = plot.cursor;
        const time = idx === null || idx === undefined ? undefined : props.times[idx];
        tip.hidden = left < 0 || time === undefined;
        if (tip.hidden || time === undefined || idx === null || idx === undefined) return;
        tip.replaceChildren(...linesOf(props, colours, time, idx));
        const right = left > plot.over.clientWidth / 2;
        tip.style.left = right ? "" : `${left + 10}px`;
        tip.style.right = right ? `${plot.over.clientWidth - left + 10}px` : "";
      },
    },
  };
}

function linesOf(
  { series, format, formatTime, formatFullTime = formatTime, kind = "bars" }: ChartProps,
  colours: readonly string[],
  time: Date,
  at: number,
): HTMLElement[] {
  const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
  return [
    lineOf(formatFullTime(time) + (kind === "bars" ? `  ${format(total)}` : "")),
    ...series.flatMap(({ label, values }, place) =>
      values[at] && series.length > 1 ? lineOf(`${label}  ${format(values[at])}`, colours[place]) : [],
    ),
  ];
}

function lineOf(text: string, colour?: string): HTMLElement {
  const line = document.createElement("div");
  if (colour !== undefined) {
    const mark = document.createElement("span");
    mark.className = "chart-mark";
    mark.style.background = colour;
    line.append(mark);
  }
  line.append(text);
  return line;
}
