import { useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { BalanceService, type GetUsageResponse } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { pluralize, formatUsd } from "../../format.ts";
import { ButtonLink, Card, Choice, EmptyState, Skeleton } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { TIME_RANGE_NAMES, TIME_RANGES, usageWindow, type TimeRange } from "./time-range.ts";
import { UsageChart, type Measure } from "./usage-chart.tsx";
import { UsageTables } from "./usage-tables.tsx";
import { useCurrentHour } from "./use-current-hour.ts";

const TIME_RANGE_OPTIONS = TIME_RANGES.map((value) => ({ value, label: value }));
const MEASURES = [
  { value: "spend", label: "Spend" },
  { value: "calls", label: "Calls" },
] as const;

/** Queries the usage of the time range in the URL. */
export function useUsage() {
  const [params] = useSearchParams();
  const span = TIME_RANGES.find((name) => name === params.get("span")) ?? "7d";
  const { from, hourly } = usageWindow(span, useCurrentHour());
  const usage = useQuery(
    BalanceService.method.getUsage,
    { from: timestampFromDate(from), hourly },
    { refetchInterval: 30_000 },
  );
  return { usage, span, hourly };
}

/** Usage over time, by tool, by key, and failures. One response feeds all parts, so the totals agree. */
export function UsageCard() {
  const [, setParams] = useSearchParams();
  const [measure, setMeasure] = useState<Measure>("spend");
  const { usage, span, hourly } = useUsage();
  return (
    <Card
      title="Usage"
      note={`last ${TIME_RANGE_NAMES[span]}, UTC`}
      actions={
        <>
          <Choice label="Chart metric" options={MEASURES} value={measure} onChange={setMeasure} />
          <Choice
            label="Time range"
            options={TIME_RANGE_OPTIONS}
            value={span}
            onChange={(value) => setParams({ span: value }, { replace: true })}
          />
        </>
      }
    >
      <QueryResult query={usage} lines={7} height={36}>
        {(data) => <Usage usage={data} span={span} hourly={hourly} measure={measure} />}
      </QueryResult>
    </Card>
  );
}

function Usage({
  usage,
  span,
  hourly,
  measure,
}: {
  usage: GetUsageResponse;
  span: TimeRange;
  hourly: boolean;
  measure: Measure;
}) {
  const { total } = usage;
  if (!total) return <Skeleton lines={7} height={36} />;
  if (total.chargedCalls === 0n && total.failedCalls === 0n) {
    return (
      <EmptyState
        title={`No paid calls in the last ${TIME_RANGE_NAMES[span]}`}
        action={<ButtonLink href="/playground">Try a tool in the playground</ButtonLink>}
      >
        Spending by tool and by key appears here within seconds.
      </EmptyState>
    );
  }
  return (
    <>
      <p className="usage-total">
        <strong className="money">{formatUsd(total.spentUsdcMicrousd)}</strong> for{" "}
        {pluralize(total.chargedCalls, "call")}
        {total.failedCalls > 0n && (
          <span className="faint"> · {total.failedCalls.toString()} failed or cancelled, not charged</span>
        )}
      </p>
      <UsageChart buckets={usage.buckets} hourly={hourly} measure={measure} span={TIME_RANGE_NAMES[span]} />
      <UsageTables usage={usage} total={total} />
    </>
  );
}
