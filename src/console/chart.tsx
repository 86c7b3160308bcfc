import { useEffect, useRef } from "react";
import Plot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffectiveTheme } from "./theme.ts";

/** One value for each point in time. */
export interface ChartProps {
  /** Caption for screen readers. */
  label: string;
  /** Oldest first. */
  times: readonly Date[];
  /** One value per time. Used for drawing only, so numbers may be rounded. */
  values: readonly number[];
  /** Formats a value for the axis and the tooltip. */
  format: (value: number) => string;
  /** Formats a time for the axis. Times are UTC. */
  formatTime: (time: Date) => string;
  /** Formats a time for the tooltip and the table. Default: `formatTime`. */
  formatFullTime?: (time: Date) => string;
  /** Exact values for the screen reader table. Default: `format` of each value. */
  texts?: readonly string[];
  /** `bars` for totals per interval, `line` for a value over time. */
  kind?: "bars" | "line";
  /** Height in pixels, default 200. */
  height?: number;
}

/** Draws a chart on a canvas and repeats its values in a table for screen readers. */
export function Chart(props: ChartProps) {
  const {
    label,
    times,
    texts,
    values,
    format,
    formatTime,
    formatFullTime = formatTime,
    height = 200,
  } = props;
  const box = useRef<HTMLDivElement>(null);
  const theme = useEffectiveTheme();
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    // A canvas does not follow CSS changes: a new theme needs a new plot.
    const plot = new Plot(optionsOf(props, element), dataOf(props), element);
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [props, theme, height]);
  return (
    <figure className="chart">
      <div ref={box} style={{ height }} aria-hidden="true" />
      {/* A table ignores a fixed height, so the wrapper hides it. */}
      <div className="hidden">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th scope="col">Time (UTC)</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {times.map((time, index) => (
              <tr key={time.getTime()}>
                <th scope="row">{formatFullTime(time)}</th>
                <td>{texts?.[index] ?? format(values[index] ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function dataOf({ times, values }: ChartProps): Plot.AlignedData {
  return [times.map((time) => time.getTime() / 1_000), [...values]];
}

function optionsOf(
  { times, format, formatTime, formatFullTime = formatTime, kind = "bars", height = 200 }: ChartProps,
  element: HTMLElement,
): Plot.Options {
  const style = getComputedStyle(element);
  const colour = resolveColours(element);
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: colour("--text-faint"), font, ticks: { show: false } };
  const paths = kind === "bars" ? Plot.paths.bars?.({ size: [0.7, 28], radius: 0.2 }) : undefined;
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === "line" } },
    tzDate: (seconds) => Plot.tzDate(new Date(seconds * 1_000), "UTC"),
    scales: {
      x: { range: (_, from, to) => axisRange(times, kind, from, to) },
      y: { range: (_, __, top) => [0, top > 0 ? top * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        splits: (plot) => axisTicks(times, plot.width / 76),
        values: (_, seconds) => seconds.map((at) => axisLabel(formatTime, at)),
      },
      {
        ...axis,
        grid: { stroke: colour("--line"), width: 1 },
        space: 36,
        size: (_, labels) => 14 + Math.max(0, ...(labels ?? []).map((text) => text.length)) * 6.5,
        values: (_, figures) => figures.map(format),
      },
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        fill: colour(kind === "bars" ? "--accent" : "--accent-soft"),
        width: kind === "bars" ? 0 : 2,
        ...(paths && { paths }),
        points: { show: false },
      },
    ],
    plugins: [tooltip(format, formatFullTime)],
  };
}

/** Resolves CSS variables to the colours in use: a canvas does not understand `light-dark()`. */
function resolveColours(element: HTMLElement): (name: string) => string {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name: string) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  // The plot has read the colours by then.
  queueMicrotask(() => probe.remove());
  return read;
}

/** Returns the axis range in seconds. Bars need half an interval of padding at both ends. */
function axisRange(
  times: readonly Date[],
  kind: ChartProps["kind"],
  from: number,
  to: number,
): [number, number] {
  const [first, second] = times;
  if (kind === "line" || !first || !second) return [from, to];
  const half = (second.getTime() - first.getTime()) / 2_000;
  return [from - half, to + half];
}

/** Returns at most about `most` evenly spaced times, in seconds, always with the last one. */
function axisTicks(times: readonly Date[], most: number): number[] {
  const step = Math.max(1, Math.ceil(times.length / Math.max(1, most)));
  return times
    .filter((_, index) => (times.length - 1 - index) % step === 0)
    .map((time) => time.getTime() / 1_000);
}

/** Drops the year: the axis has no room for it. */
function axisLabel(formatTime: ChartProps["formatTime"], seconds: number): string {
  return formatTime(new Date(seconds * 1_000)).replace(/^\d{4}-/, "");
}

/** Shows the value and time under the pointer. */
function tooltip(format: ChartProps["format"], formatTime: ChartProps["formatTime"]): Plot.Plugin {
  const tip = document.createElement("div");
  tip.className = "chart-tip";
  return {
    hooks: {
      init: (plot) => {
        plot.over.append(tip);
      },
      setCursor: (plot) => {
        const { idx, left = -1 } = plot.cursor;
        const seconds = idx === null || idx === undefined ? undefined : plot.data[0][idx];
        const value = idx === null || idx === undefined ? undefined : plot.data[1]?.[idx];
        tip.hidden = left < 0 || seconds === undefined || value === undefined || value === null;
        if (tip.hidden || seconds === undefined) return;
        tip.textContent = `${formatTime(new Date(seconds * 1_000))}  ${format(value ?? 0)}`;
        const right = left > plot.over.clientWidth / 2;
        tip.style.left = right ? "" : `${left + 10}px`;
        tip.style.right = right ? `${plot.over.clientWidth - left + 10}px` : "";
      },
    },
  };
}
