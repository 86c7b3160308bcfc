import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import type { GetUsageResponse } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatCount, formatDuration, formatUsd, pluralize } from "../../format.ts";
import type { ChartProps } from "../../chart.tsx";
import { LazyChart } from "../../ui/lazy-chart.tsx";
import { bucketLabel, bucketTitle } from "./time-range.ts";
import { usageSeries } from "./usage-series.ts";
import type { UsageView } from "./use-usage.ts";

const LABELS = {
  spend: "Spent",
  calls: "Charged calls",
  errors: "Failed calls",
  latency: "Latency",
} as const;

/** Spend, calls or errors by hour or day, stacked; or latency. A click lists the calls. */
export function UsageChart({
  usage,
  hourly,
  view,
  range,
}: {
  usage: GetUsageResponse;
  hourly: boolean;
  view: UsageView;
  /** In words. */
  range: string;
}) {
  const [, navigate] = useLocation();
  const { measure, by, zone } = view;
  const shown = usageSeries(usage, { measure, by, hourly });
  // New props redraw the chart; the response is the same object until it changes.
  const chart = useMemo((): ChartProps => {
    return {
      label: `${LABELS[measure]} by ${hourly ? "hour" : "day"}, ${range}`,
      times: usage.buckets.map(({ start }) => (start ? timestampDate(start) : new Date(0))),
      series: shown.map(({ label, figures }) => ({
        label,
        values: figures.map(Number),
        texts: figures.map((figure) => exactText(measure, figure)),
      })),
      kind: measure === "latency" ? "line" : "bars",
      // Axis ticks need not be exact, so rounding is fine here.
      format: (value) => axisText(measure, value),
      formatTime: (time) => bucketLabel(time, hourly, zone),
      formatFullTime: (time) => bucketTitle(time, hourly, zone),
      hrefOf: (series, time) => shown[series]?.hrefOf?.(time),
      onOpen: navigate,
      height: 210,
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [usage, measure, by, hourly, zone, range]);
  return (
    <>
      <LazyChart {...chart} />
      {shown.length > 1 && (
        <ul className="usage-legend" aria-label="Series">
          {shown.map(({ label, href }, place) => (
            <li key={place}>
              <span className="chart-mark" style={{ background: `var(--series-${(place % 9) + 1})` }} />
              {href === undefined ? label : <Link href={href}>{label}</Link>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function exactText(measure: UsageView["measure"], figure: bigint): string {
  if (measure === "spend") return formatUsd(figure);
  if (measure === "latency") return figure === 0n ? "—" : formatDuration(Number(figure));
  return pluralize(figure, measure === "calls" ? "call" : "failed call");
}

function axisText(measure: UsageView["measure"], value: number): string {
  if (measure === "spend") return formatUsd(BigInt(Math.round(value)));
  return measure === "latency" ? formatDuration(value) : formatCount(Math.round(value));
}
