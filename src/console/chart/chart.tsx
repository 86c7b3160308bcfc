import { useEffect, useRef, useState } from "react";
import Plot from "uplot";
import "uplot/dist/uPlot.min.css";
import { plotData, plotOptions } from "./plot.ts";
import { useEffectiveTheme } from "../theme.ts";
import type { ChartProps } from "./tooltip.ts";
import { Link } from "wouter";

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

/** The values of a chart as a table, for the keyboard and for screen readers. Rows are made when it opens. */
function ChartTable({
  label,
  times,
  series,
  format,
  formatTime,
  formatFullTime = formatTime,
  hrefOf,
}: ChartProps) {
  const [open, setOpen] = useState(false);
  const valueOf = (one: number, at: number) => {
    const { values = [], texts } = series[one] ?? {};
    const text = texts?.[at] ?? format(values[at] ?? 0);
    const href = (values[at] ?? 0) === 0 ? undefined : hrefOf?.(one, at);
    return href === undefined ? text : <Link href={href}>{text}</Link>;
  };
  return (
    <details className="chart-data" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as table</summary>
      {open && (
        <div className="chart-table" role="region" aria-label={label} tabIndex={0}>
          <table>
            <caption className="hidden">{label}</caption>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map((one, place) => (
                  <th key={place} scope="col">
                    {one.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, at) => (
                <tr key={time.getTime()}>
                  <th scope="row">{formatFullTime(time)}</th>
                  {series.map((_, place) => (
                    <td key={place}>{valueOf(place, at)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
