import type Plot from "uplot";
import type { ChartProps, ChartSeries } from "../chart.tsx";

/** Series shown in a tooltip besides the total. */
const SHOWN = 9;

/** Returns the series of a stack at a height; the top one above it. */
export function seriesAt(series: readonly ChartSeries[], at: number, value: number): number {
  let sum = 0;
  let top = 0;
  for (const [place, { values }] of series.entries()) {
    const own = values[at] ?? 0;
    sum += own;
    if (own > 0) top = place;
    if (own > 0 && value <= sum) return place;
  }
  return top;
}

/** Shows the values and the time under the pointer. */
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
  const isStack = kind === "bars" && series.length > 1;
  if (series.length === 1) return [lineOf(`${formatFullTime(time)}  ${format(total)}`)];
  return [
    lineOf(isStack ? `${formatFullTime(time)}  ${format(total)}` : formatFullTime(time)),
    ...series
      .map(({ label, values }, place) => ({ label, value: values[at] ?? 0, colour: colours[place] }))
      .filter(({ value }) => value !== 0)
      .slice(0, SHOWN)
      .map(({ label, value, colour }) => lineOf(`${label}  ${format(value)}`, colour)),
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
