import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo } from "react";
import type { UsageBucket } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { pluralize, formatCount, formatUsd } from "../../format.ts";
import { LazyChart } from "../../ui/lazy-chart.tsx";
import { bucketLabel, bucketTitle } from "./time-range.ts";

/** Content of the chart. */
export type Measure = "spend" | "calls";

/** Spend or charged calls by hour or day. */
export function UsageChart({
  buckets,
  hourly,
  measure,
  span,
}: {
  buckets: readonly UsageBucket[];
  hourly: boolean;
  measure: Measure;
  span: string;
}) {
  // Memoised: new props redraw the chart.
  const chart = useMemo(() => {
    const times = buckets.map(({ start }) => (start ? timestampDate(start) : new Date(0)));
    const figures = buckets.map(
      ({ usage }) => (measure === "spend" ? usage?.spentUsdcMicrousd : usage?.chargedCalls) ?? 0n,
    );
    const write = (figure: bigint) => (measure === "spend" ? formatUsd(figure) : pluralize(figure, "call"));
    return {
      label:
        `${measure === "spend" ? "Spent" : "Charged calls"} by ${hourly ? "hour" : "day"}, last ` +
        `${span}, UTC`,
      times,
      values: figures.map(Number),
      texts: figures.map(write),
      // Axis ticks need not be exact, so rounding is fine here.
      format: (value: number) =>
        measure === "spend" ? formatUsd(BigInt(Math.round(value))) : formatCount(Math.round(value)),
      formatTime: (time: Date) => bucketLabel(time, hourly),
      formatFullTime: (time: Date) => bucketTitle(time, hourly),
    };
  }, [buckets, hourly, measure, span]);
  return <LazyChart {...chart} height={190} />;
}
