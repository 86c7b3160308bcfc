import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { GetUsageResponse, Usage, UsageSeries } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { isoDay, writeFilter, type Filter } from "../activity/filter.ts";
import type { Measure, StackedBy } from "./use-usage.ts";

/** A series of the chart. */
export interface ShownSeries {
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
export function usageSeries(usage: GetUsageResponse, { measure, by, hourly }: View): ShownSeries[] {
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
