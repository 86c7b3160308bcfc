import type { GetUsageResponse, Usage as UsageTotal } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatCount, formatDuration, formatUsd, pluralize } from "../../format.ts";
import { ButtonLink, Card, EmptyState, Skeleton } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { daysError, TIME_RANGE_NAMES, zoneName } from "./time-range.ts";
import { UsageChart } from "./usage-chart.tsx";
import { UsageControls } from "./usage-controls.tsx";
import { UsageTables } from "./usage-tables.tsx";
import { useUsage, useUsageView, type UsageView } from "./use-usage.ts";

/** Usage over time, by tool, by key, and failures. One response feeds all parts, so the totals agree. */
export function UsageCard() {
  const [, change] = useUsageView();
  const { usage, view, hourly, valid } = useUsage();
  const range = rangeInWords(view);
  return (
    <Card title="Usage" note={`${range}, ${zoneName(view.zone)}`}>
      <UsageControls view={view} onChange={change} />
      {valid ? (
        <QueryResult query={usage} lines={7} height={36}>
          {(data) => <Usage usage={data} hourly={hourly} view={view} range={range} />}
        </QueryResult>
      ) : (
        <p className="faint">{daysError(view)}</p>
      )}
    </Card>
  );
}

function rangeInWords({ span, from, to }: UsageView): string {
  return span === "custom" ? (from === "" ? "custom" : `${from} to ${to}`) : `last ${TIME_RANGE_NAMES[span]}`;
}

/** The total of what the chart shows, and the rest of its sentence. */
function headline(
  { buckets }: GetUsageResponse,
  { chargedCalls, failedCalls, spentUsdcMicrousd }: UsageTotal,
  measure: UsageView["measure"],
): [figure: string, rest: string] {
  const [calls, spent] = [pluralize(chargedCalls, "call"), formatUsd(spentUsdcMicrousd)];
  const failed = `${formatCount(failedCalls)} failed or refused`;
  if (measure === "errors") {
    const percent = Number((failedCalls * 1000n) / (chargedCalls + failedCalls)) / 10;
    return [failed, `· ${percent.toFixed(1)} % of calls, not charged`];
  }
  if (measure === "latency") {
    const latest = buckets.findLast(({ latency }) => latency)?.latency;
    if (!latest) return ["No charged calls", ""];
    const { p50Ms, p95Ms } = latest;
    return [formatDuration(p50Ms), `median, ${formatDuration(p95Ms)} 95th percentile, latest`];
  }
  const rest = failedCalls > 0n ? ` · ${failed}, not charged` : "";
  return measure === "calls" ? [calls, `for ${spent}${rest}`] : [spent, `for ${calls}${rest}`];
}

interface UsageProps {
  usage: GetUsageResponse;
  hourly: boolean;
  view: UsageView;
  range: string;
}

function Usage({ usage, hourly, view, range }: UsageProps) {
  const { total } = usage;
  if (!total) return <Skeleton lines={7} height={36} />;
  if (total.chargedCalls === 0n && total.failedCalls === 0n) {
    return (
      <EmptyState
        title={view.span === "custom" ? "No paid calls on these days" : `No paid calls in the ${range}`}
        action={<ButtonLink href="/playground">Try a tool in the playground</ButtonLink>}
      >
        Spending by tool and by key appears here within seconds.
      </EmptyState>
    );
  }
  const [figure, rest] = headline(usage, total, view.measure);
  return (
    <>
      <p className="usage-total">
        <strong className="money">{figure}</strong> {rest}
      </p>
      <UsageChart usage={usage} hourly={hourly} view={view} range={range} />
      <UsageTables usage={usage} total={total} />
    </>
  );
}
