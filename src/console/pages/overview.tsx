import { useQuery } from "@connectrpc/connect-query";
import { BalanceService } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { HistoryService, type ListRunsResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ButtonLink, Page, Aligned, Card, Table, Time, type Column, moneyColumn } from "../ui/index.ts";
import { BalanceCard } from "./overview/balance-card.tsx";
import { LimitWarning } from "./overview/limit-warning.tsx";
import { useGroups, useKeys } from "./keys/use-keys.ts";
import { FirstSteps } from "./overview/first-steps.tsx";
import { UsageCard } from "./overview/usage-card.tsx";
import { useUsage } from "./overview/use-usage.ts";
import { useFirstSteps } from "./overview/use-first-steps.ts";
import { useLoaded, QueryResult } from "./query-result.tsx";
import "./overview/overview.css";
import { Link } from "wouter";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { Outcome, withCalls, type ListedCall } from "./activity/call.tsx";

const RECENT_CALLS = 6;

/** Balance, usage and recent calls; a checklist for a new account. */
export function OverviewPage() {
  const runs = useQuery(HistoryService.method.listRuns, { limit: RECENT_CALLS }, { refetchInterval: 15_000 });
  const balance = useQuery(BalanceService.method.getBalance, {});
  const { usage, valid } = useUsage();
  const steps = useFirstSteps();
  const [keys, groups] = [useKeys(), useGroups()];
  const loaded = useLoaded(runs, balance, ...(valid ? [usage] : []), steps, keys, groups);
  return (
    <Page
      title="Overview"
      loading={!loaded}
      actions={
        <ButtonLink href="/deposit" tone="primary" icon="deposit">
          Deposit
        </ButtonLink>
      }
    >
      <LimitWarning
        keys={keys.data?.keys ?? []}
        groups={groups.data?.groups ?? []}
        now={new Date(keys.dataUpdatedAt)}
      />
      <BalanceCard />
      {steps.shown && <FirstSteps steps={steps} />}
      <UsageCard />
      {runs.data?.items.length !== 0 && <RecentCalls query={runs} />}
    </Page>
  );
}

const COLUMNS: readonly Column<ListedCall<Run>>[] = [
  {
    head: "Tool",
    cell: ({ item: { runId, tool } }) => (
      <Link href={`/runs/${runId}`} className="row-link">
        {tool}
      </Link>
    ),
  },
  {
    head: "Status",
    cell: ({ item: { error }, call }) => (
      <span>
        <Outcome call={call} /> {error && <code className="faint">{error.code}</code>}
      </span>
    ),
  },
  { head: "Time", cell: ({ item }) => <Time at={item.createdAt} relative /> },
  moneyColumn("Cost", ({ item }) => item.spentUsdcMicrousd),
];

/** The most recent runs, charged or not. */
function RecentCalls({
  query,
}: {
  query: { data: ListRunsResponse | undefined; error: unknown; refetch: () => unknown };
}) {
  return (
    <Card
      title="Recent calls"
      flush
      actions={
        <ButtonLink href="/activity?tab=runs" small tone="quiet">
          All runs
        </ButtonLink>
      }
    >
      <QueryResult query={query} lines={6} pad>
        {({ items, calls }) => (
          <Aligned amounts={items.map(({ spentUsdcMicrousd }) => spentUsdcMicrousd)}>
            <Table
              caption="Recent calls"
              columns={COLUMNS}
              rows={withCalls(items, calls)}
              rowKey={({ item }) => item.runId}
              empty={null}
            />
          </Aligned>
        )}
      </QueryResult>
    </Card>
  );
}
