import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import type { GetUsageResponse, Usage, UsageSeries } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatCount, formatDuration, formatUsd, pluralize } from "../../format.ts";
import type { ChartProps } from "../../chart/tooltip.ts";
import { LazyChart } from "../../ui/lazy-chart.tsx";
import { byMonth } from "./by-month.ts";
import { bucketLabel, bucketTitle, stepOf, type Step } from "./time-range.ts";
import type { UsageView, Measure, StackedBy } from "./use-usage.ts";
import { activityHref, isoDay, type Filter } from "../activity/filter.ts";

const LABELS = {
  spend: "Spent",
  calls: "Charged calls",
  errors: "Failed or refused calls",
  latency: "Latency",
} as const;

interface UsageChartProps {
  usage: GetUsageResponse;
  hourly: boolean;
  view: UsageView;
  /** In words. */
  range: string;
}

/** Spend, calls or errors by hour, day or month, stacked; or latency. A click lists the calls. */
export function UsageChart({ usage: answer, hourly, view, range }: UsageChartProps) {
  const [, navigate] = useLocation();
  const { measure, by, zone, span } = view;
  const step = measure === "latency" && !hourly ? "day" : stepOf(span, view, hourly);
  const usage = useMemo(() => (step === "month" ? byMonth(answer, zone) : answer), [answer, step, zone]);
  const shown = usageSeries(usage, { measure, by, step });
  // New props redraw the chart; the response is the same object until it changes.
  const chart = useMemo((): ChartProps => {
    return {
      label: `${LABELS[measure]} by ${step}, ${range}`,
      times: usage.buckets.map(({ start }) => (start ? timestampDate(start) : new Date(0))),
      series: shown.map(({ label, colour, figures }) => ({
        label,
        colour,
        values: figures.map(Number),
        texts: figures.map((figure) => exactText(measure, figure)),
      })),
      kind: measure === "latency" ? "line" : "bars",
      // Axis ticks need not be exact, so rounding is fine here.
      format: (value) => axisText(measure, value),
      formatTime: (time) => bucketLabel(time, step, zone),
      formatFullTime: (time) => bucketTitle(time, step, zone),
      hrefOf: (series, time) => shown[series]?.hrefOf?.(time),
      onOpen: navigate,
      height: 210,
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [usage, measure, by, step, zone, range]);
  return (
    <>
      <LazyChart {...chart} />
      {shown.length > 1 && (
        <ul className="usage-legend" aria-label="Series">
          {shown.map(({ label, colour, href }, place) => (
            <li key={place}>
              <span className="chart-mark" style={{ background: `var(${colour})` }} />
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
  return measure === "calls" ? pluralize(figure, "call") : `${formatCount(figure)} not charged`;
}

function axisText(measure: UsageView["measure"], value: number): string {
  if (measure === "spend") return formatUsd(BigInt(Math.round(value)));
  return measure === "latency" ? formatDuration(value) : formatCount(Math.round(value));
}

interface ShownSeries {
  readonly label: string;
  /** Name of its colour: the same for a name in every chart. */
  readonly colour: string;
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
  readonly step: Step;
}

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

const PERCENTILES = [
  { name: "p50Ms", label: "Median", colour: "--series-1" },
  { name: "p95Ms", label: "95th percentile", colour: "--series-2" },
] as const;

/** Returns the series of a chart, those with nothing to show left out. */
function usageSeries(usage: GetUsageResponse, { measure, by, step }: View): ShownSeries[] {
  if (measure === "latency")
    return PERCENTILES.map(({ name, ...shown }) => ({
      ...shown,
      figures: usage.buckets.map(({ latency }) => BigInt(latency?.[name] ?? 0)),
    }));
  const starts = usage.buckets.map(({ start }) => (start ? timestampDate(start).getTime() : 0));
  const lastEnd = step === "month" ? Date.now() : (starts.at(-1) ?? 0) + (step === "hour" ? HOUR_MS : DAY_MS);
  // Activity lists days in UTC: those that the interval touches.
  const daysOf = (first: number, last: number) => ({
    from: isoDay(starts[first] ?? 0),
    to: isoDay((starts[last + 1] ?? lastEnd) - 1),
  });
  const figureOf = (one: Usage) =>
    ({ spend: one.spentUsdcMicrousd, calls: one.chargedCalls, errors: one.failedCalls })[measure];
  return usage.series.flatMap((series): ShownSeries[] => {
    const figures = series.usage.map(figureOf);
    if (figures.every((figure) => figure === 0n)) return [];
    const filter = filterOf(series, measure, by);
    const hrefOf = (days: { from: string; to: string }) => filter && activityHref({ ...filter, ...days });
    return [
      {
        label: labelOf(series, by, usage),
        colour: colourOf(series, by),
        figures,
        href: hrefOf(daysOf(0, starts.length - 1)),
        hrefOf: (bucket) => hrefOf(daysOf(bucket, bucket)),
      },
    ];
  });
}

/** Names in the order in which they appeared: each keeps its colour when ranks, ranges and filters change. */
const NAMES: Readonly<Record<StackedBy, string[]>> = { tool: [], key: [], model: [], code: [] };

/** Names share a colour only if there are more than eight; the ninth is for all others together. */
function colourOf({ value }: UsageSeries, by: StackedBy): string {
  const names = NAMES[by];
  if (value !== undefined && !names.includes(value)) names.push(value);
  return `--series-${value === undefined ? 9 : (names.indexOf(value) % 8) + 1}`;
}

/** Undefined: Activity has no filter for it. */
function filterOf({ value }: UsageSeries, measure: Measure, by: StackedBy): Partial<Filter> | undefined {
  const all = measure === "errors" ? failuresFilter(by === "code" ? value : undefined) : {};
  if (by === "code" || value === undefined) return all;
  // The list of requests has no models.
  if (by === "model" && all.tab === "requests") return undefined;
  if (value === "") return undefined;
  return { ...all, [by]: value };
}

/** Codes of runs that failed. Other errors are refusals, which only the list of requests has. */
const RUN_FAILURES = ["TOOL_FAILED", "UNAVAILABLE", "CANCELLED", "INTERNAL"];

/** The calls that failed with a code, or with any. */
export function failuresFilter(code: string | undefined): Partial<Filter> {
  return code !== undefined && RUN_FAILURES.includes(code)
    ? { tab: "runs", status: "failed" }
    : { tab: "requests", status: code === undefined ? "" : "refused" };
}

function labelOf({ value }: UsageSeries, by: StackedBy, { keys }: GetUsageResponse): string {
  if (value === undefined) return "All others";
  if (by === "key") {
    const name = keys.find(({ keyId }) => keyId === value)?.name ?? "";
    return value === "" ? "Unknown key" : name === "" ? value : name;
  }
  return value === "" ? (by === "model" ? "No model" : "Succeeded") : value;
}
