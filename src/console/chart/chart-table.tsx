import { useState } from "react";
import { Link } from "wouter";
import type { ChartProps } from "../chart.tsx";

/** The values of a chart as a table, for the keyboard and for screen readers. Rows are made when it opens. */
export function ChartTable({
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
