import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { GetUsageResponse, Usage } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { partsOf, type Zone } from "./time-range.ts";

/** Joins the days of each month of a zone in the series, and leaves the buckets that start a month. */
export function byMonth(usage: GetUsageResponse, zone: Zone): GetUsageResponse {
  const months = usage.buckets.map(({ start }) => (start ? partsOf(timestampDate(start), zone).month : ""));
  const firsts = months.flatMap((month, at) => (month === months[at - 1] ? [] : at));
  return {
    ...usage,
    buckets: firsts.flatMap((first) => usage.buckets[first] ?? []),
    series: usage.series.map((series) => ({
      ...series,
      usage: firsts.map((first, at) => series.usage.slice(first, firsts[at + 1]).reduce(sumOf)),
    })),
  };
}

function sumOf(sum: Usage, day: Usage): Usage {
  return {
    ...sum,
    chargedCalls: sum.chargedCalls + day.chargedCalls,
    spentUsdcMicrousd: sum.spentUsdcMicrousd + day.spentUsdcMicrousd,
    failedCalls: sum.failedCalls + day.failedCalls,
  };
}
