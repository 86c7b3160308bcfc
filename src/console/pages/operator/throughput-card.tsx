import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useMemo, useState } from "react";
import type { MinuteOfCalls } from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatCount, formatUsd, formatUtc } from "../../format.ts";
import { Card, Choice, EmptyState } from "../../ui/index.ts";
import { LazyChart } from "../../ui/lazy-chart.tsx";

const METRICS = [
  { value: "calls", label: "Calls" },
  { value: "failed", label: "Failed" },
  { value: "charged", label: "Charged" },
] as const;

type Metric = (typeof METRICS)[number]["value"];

export function ThroughputCard({
  minutes,
  activeRuns,
}: {
  minutes: readonly MinuteOfCalls[];
  activeRuns: bigint;
}) {
  const [shown, setShown] = useState<Metric>("calls");
  // Redraw the chart only when its values change.
  const key = minutes.map((minute) => `${metricValue(shown, minute)}@${minute.start?.seconds ?? 0n}`).join();
  const props = useMemo(
    () => chartProps(shown, minutes),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [key, shown],
  );
  const total = minutes.reduce((sum, minute) => sum + metricValue(shown, minute), 0n);
  return (
    <Card
      title="Throughput"
      note="last 60 minutes, UTC"
      actions={<Choice label="Metric" options={METRICS} value={shown} onChange={setShown} />}
    >
      <p className="throughput-total">
        <strong>{shown === "charged" ? formatUsd(total) : formatCount(total)}</strong>{" "}
        <span className="faint">
          {shown === "charged" ? "charged" : shown === "failed" ? "failed or cancelled" : "finished"},{" "}
          {formatCount(activeRuns)} running
        </span>
      </p>
      {minutes.length === 0 ? <EmptyState title="No calls in the last hour" /> : <LazyChart {...props} />}
    </Card>
  );
}

function metricValue(shown: Metric, { completed, failed, chargedUsdcMicrousd }: MinuteOfCalls): bigint {
  if (shown === "charged") return chargedUsdcMicrousd;
  return BigInt(shown === "failed" ? failed : completed + failed);
}

function chartProps(shown: Metric, minutes: readonly MinuteOfCalls[]) {
  const figures = minutes.map((minute) => metricValue(shown, minute));
  const write = (figure: bigint) => (shown === "charged" ? formatUsd(figure) : formatCount(figure));
  return {
    label:
      `${shown === "charged" ? "Charged" : shown === "failed" ? "Failed calls" : "Calls"} by minute, ` +
      "last 60 minutes",
    times: minutes.map(({ start }) => (start ? timestampDate(start) : new Date(0))),
    series: [
      {
        label: METRICS.find(({ value }) => value === shown)?.label ?? "",
        colour: "--accent",
        values: figures.map(Number),
        texts: figures.map(write),
      },
    ],
    format: (value: number) => (Number.isInteger(value) ? write(BigInt(value)) : ""),
    formatTime: (time: Date) => formatUtc(time).slice(11, 16),
    formatFullTime: (time: Date) => `${formatUtc(time).slice(0, 16)} UTC`,
    height: 180,
  };
}
