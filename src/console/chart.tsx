import { useEffect, useRef } from "react";
import Plot from "uplot";
import "uplot/dist/uPlot.min.css";
import { ChartTable } from "./chart/chart-table.tsx";
import { plotData, plotOptions } from "./chart/plot.ts";
import { useEffectiveTheme } from "./use-theme.ts";

/** Values of one tool, key or the like over time. */
export interface ChartSeries {
  label: string;
  /** One per time. Used for drawing only, so numbers may be rounded. */
  values: readonly number[];
  /** Exact values for the table. Default: `format` of each value. */
  texts?: readonly string[];
}

/** Values over time. */
export interface ChartProps {
  /** Caption of the table. */
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

/** Draws a chart on a canvas, with the same values in a table below. */
export function Chart(props: ChartProps) {
  const { height = 200 } = props;
  const box = useRef<HTMLDivElement>(null);
  const theme = useEffectiveTheme();
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    // A canvas does not follow CSS changes: a new theme needs a new plot.
    const plot = new Plot(plotOptions(props, element), plotData(props), element);
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
      <ChartTable {...props} />
    </figure>
  );
}
