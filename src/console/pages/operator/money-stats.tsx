import type { GetStatusResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Link } from "wouter";
import { pluralize, formatCount, formatUsd } from "../../format.ts";
import { Stat, Stats } from "../../ui/index.ts";

/** Liabilities, revenue and suspense. */
export function MoneyStats({ status }: { status: GetStatusResponse }) {
  return (
    <Stats>
      <Stat
        label="Owed to accounts"
        value={formatUsd(status.liabilitiesUsdcMicrousd)}
        note="balances and holds"
      />
      <Stat
        label="Revenue"
        value={status.revenueUsdcMicrousd === undefined ? "—" : formatUsd(status.revenueUsdcMicrousd)}
        note="charges minus refunds, all time"
      />
      <Stat
        label="In suspense"
        value={formatUsd(status.suspenseUsdcMicrousd)}
        note={<Link href="/operator/payments">{pluralize(status.suspenseCount, "unassigned transfer")}</Link>}
      />
      <Stat label="Running now" value={formatCount(status.activeRuns)} note="calls" />
    </Stats>
  );
}
