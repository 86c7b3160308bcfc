import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import type { GetUsageResponse, Usage, UsageSeries } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatCount, formatDuration, formatUsd, pluralize } from "../../format.ts";
import type { ChartProps } from "../../chart/tooltip.ts";
import { LazyChart } from "../../ui/lazy-chart.tsx";
import { bucketLabel, bucketTitle } from "./time-range.ts";
import type { UsageView, Measure, StackedBy } from "./use-usage.ts";
import { isoDay, writeFilter, type Filter } from "../activity/filter.ts";

const LABELS = {
  spend: "Spent",
  calls: "Charged calls",
  errors: "Failed calls",
  latency: "Latency",
} as const;

interface UsageChartProps {
  usage: GetUsageResponse;
  hourly: boolean;
  view: UsageView;
  /** In words. */
  range: string;
}

/** Spend, calls or errors by hour or day, stacked; or latency. A click lists the calls. */
export function UsageChart({ usage, hourly, view, range }: UsageChartProps) {
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

interface ShownSeries {
  readonly label: string;
  /** One per bucket: micro-USD, calls, or ms. */
  readonly figures: readonly bigint[];
  /** Calls of the series in the whole range; undefined: no list shows them. */
  readonly href?: string | undefined;
  /** Calls of the series in a bucket. */
  readonly hrefOf?: (bucket: number) => string | undefined;
}

interface View {
  readonly measure: Measure;
  readonly by: StackedBy;
  readonly hourly: boolean;
}

const ALL: Filter = {
  tab: "receipts",
  status: "",
  outcome: "",
  tool: "",
  key: "",
  model: "",
  from: "",
  to: "",
};

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

/** Returns the series of a chart, those with nothing to show left out. */
function usageSeries(usage: GetUsageResponse, { measure, by, hourly }: View): ShownSeries[] {
  if (measure === "latency")
    return [
      { label: "Median", figures: usage.buckets.map(({ latency }) => BigInt(latency?.p50Ms ?? 0)) },
      { label: "95th percentile", figures: usage.buckets.map(({ latency }) => BigInt(latency?.p95Ms ?? 0)) },
    ];
  const starts = usage.buckets.map(({ start }) => (start ? timestampDate(start).getTime() : 0));
  const stepMs = hourly ? HOUR_MS : DAY_MS;
  // Activity lists days in UTC: those that the interval touches.
  const daysOf = (first: number, last: number) => ({
    from: isoDay(starts[first] ?? 0),
    to: isoDay((starts[last] ?? 0) + stepMs - 1),
  });
  const figureOf = (one: Usage) =>
    ({ spend: one.spentUsdcMicrousd, calls: one.chargedCalls, errors: one.failedCalls })[measure];
  return usage.series.flatMap((series): ShownSeries[] => {
    const figures = series.usage.map(figureOf);
    if (figures.every((figure) => figure === 0n)) return [];
    const filter = filterOf(series, measure, by);
    const hrefOf = (days: { from: string; to: string }) =>
      filter && `/activity${writeFilter({ ...filter, ...days })}`;
    return [
      {
        label: labelOf(series, by, usage),
        figures,
        href: hrefOf(daysOf(0, starts.length - 1)),
        hrefOf: (bucket) => hrefOf(daysOf(bucket, bucket)),
      },
    ];
  });
}

/** Undefined: Activity has no filter for it. */
function filterOf({ value }: UsageSeries, measure: Measure, by: StackedBy): Filter | undefined {
  const all: Filter = measure === "errors" ? { ...ALL, tab: "runs", status: "failed" } : ALL;
  if (by === "code" || value === undefined) return all;
  if (value === "") return undefined;
  return { ...all, [by]: value };
}

function labelOf({ value }: UsageSeries, by: StackedBy, { keys }: GetUsageResponse): string {
  if (value === undefined) return "All others";
  if (by === "key") {
    const name = keys.find(({ keyId }) => keyId === value)?.name ?? "";
    return value === "" ? "Unknown key" : name === "" ? value : name;
  }
  return value === "" ? (by === "model" ? "No model" : "Succeeded") : value;
}
