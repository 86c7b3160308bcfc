import { useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useSearchParams } from "wouter";
import { BalanceService, UsageDimension } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import {
  customWindow,
  daysError,
  TIME_RANGES,
  usageWindow,
  zoneName,
  type Days,
  type TimeRange,
  type Zone,
} from "./time-range.ts";
import { useCurrentHour } from "./use-current-hour.ts";

export const MEASURES = [
  { value: "spend", label: "Spend" },
  { value: "calls", label: "Calls" },
  { value: "errors", label: "Errors" },
  { value: "latency", label: "Latency" },
] as const;

export type Measure = (typeof MEASURES)[number]["value"];

export type StackedBy = "tool" | "key" | "model" | "code";

const DIMENSION: Readonly<Record<StackedBy, UsageDimension>> = {
  tool: UsageDimension.TOOL,
  key: UsageDimension.KEY,
  model: UsageDimension.MODEL,
  code: UsageDimension.OUTCOME,
};

export interface UsageView extends Days {
  readonly span: TimeRange;
  readonly measure: Measure;
  readonly by: StackedBy;
  readonly zone: Zone;
}

/** Returns the selection in the address, and a function that changes it. */
export function useUsageView(): [UsageView, (change: Partial<UsageView>) => void] {
  const [params, setParams] = useSearchParams();
  const measure = MEASURES.find(({ value }) => value === params.get("measure"))?.value ?? "spend";
  const by = (["tool", "key", "model", "code"] as const).find((name) => name === params.get("by"));
  const view: UsageView = {
    span: TIME_RANGES.find((name) => name === params.get("span")) ?? "7d",
    measure,
    by: measure === "errors" ? (by ?? "code") : by === undefined || by === "code" ? "tool" : by,
    zone: params.get("zone") === "local" ? "local" : "UTC",
    from: params.get("from") ?? "",
    to: params.get("to") ?? "",
  };
  const change = (changed: Partial<UsageView>) => {
    const next = new URLSearchParams(params);
    for (const [name, value] of Object.entries(changed))
      if (value === "") next.delete(name);
      else next.set(name, value);
    setParams(next, { replace: true });
  };
  return [view, change];
}

/** Queries the usage that the address selects. An invalid custom range queries nothing. */
export function useUsage() {
  const [view] = useUsageView();
  const { span, zone, by, measure } = view;
  const hour = useCurrentHour();
  const valid = span !== "custom" || daysError(view) === undefined;
  const window =
    span !== "custom"
      ? usageWindow(span, hour, zone)
      : customWindow(valid ? view : { from: TODAY, to: TODAY }, zone);
  const { from, to, hourly } = window;
  const usage = useQuery(
    BalanceService.method.getUsage,
    {
      from: timestampFromDate(from),
      ...(to && { to: timestampFromDate(to) }),
      hourly,
      timeZone: zoneName(zone),
      by: measure === "latency" ? UsageDimension.UNSPECIFIED : DIMENSION[by],
    },
    { refetchInterval: 30_000, enabled: valid },
  );
  return { usage, view, hourly, valid };
}

const TODAY = new Date().toISOString().slice(0, 10);
