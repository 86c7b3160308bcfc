import { Link } from "wouter";
import type { ListRunsResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { Aligned, ButtonLink, Card, Money, Table, Time, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { Outcome, withCalls, type ListedCall } from "../activity/call.tsx";

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
  {
    head: "Cost",
    align: "end",
    cell: ({ item }) => <Money microUsd={item.spentUsdcMicrousd} aligned />,
  },
];

/** The most recent runs, charged or not. */
export function RecentCalls({
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
