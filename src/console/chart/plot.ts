import Plot from "uplot";
import { type ChartProps, seriesAt, tooltip } from "./tooltip.ts";

/** The first series is at the bottom, so it is drawn last, over those that it is added to. */
export function plotData({ times, series, kind = "bars" }: ChartProps): Plot.AlignedData {
  const xs = times.map((time) => time.getTime() / 1_000);
  if (kind === "line") return [xs, ...series.map(({ values }) => values.map((value) => value || null))];
  const sums = times.map(() => 0);
  const stacked = series.map(({ values }) => sums.map((sum, at) => (sums[at] = sum + (values[at] ?? 0))));
  return [xs, ...stacked.toReversed()];
}

export function plotOptions(props: ChartProps, element: HTMLElement): Plot.Options {
  const { times, series, format, formatTime, kind = "bars", height = 200, hrefOf, onOpen } = props;
  const style = getComputedStyle(element);
  const colour = resolveColours(element);
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: colour("--text-faint"), font, ticks: { show: false } };
  const paths = kind === "bars" ? Plot.paths.bars?.({ size: [0.7, 28] }) : undefined;
  const colours = series.map((one) => colour(one.colour));
  return {
    width: Math.max(element.clientWidth, 100),
    height,
    padding: [10, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === "line" } },
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
        values: (_, seconds) => seconds.map((at) => formatTime(new Date(at * 1_000))),
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
      ...(kind === "line" ? colours : colours.toReversed()).map((stroke) => ({
        stroke,
        fill: kind === "bars" ? stroke : "transparent",
        width: kind === "bars" ? 0 : 2,
        ...(paths && { paths }),
        points: { show: kind === "line" && times.length < 60, size: 5, fill: stroke },
      })),
    ],
    plugins: [tooltip(props, colours), ...(hrefOf && onOpen ? [opening(props)] : [])],
  };
}

function opening({ series, hrefOf, onOpen }: ChartProps): Plot.Plugin {
  return {
    hooks: {
      ready: (plot) => {
        plot.over.classList.add("is-clickable");
        plot.over.addEventListener("click", (event) => {
          const at = plot.cursor.idx ?? 0;
          const place = seriesAt(series, at, plot.posToVal(event.offsetY, "y"));
          const href = place === undefined ? undefined : hrefOf?.(place, at);
          if (href) onOpen?.(href);
        });
      },
    },
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
