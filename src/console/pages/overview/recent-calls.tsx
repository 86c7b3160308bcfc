import { Link } from "wouter";
import type { ListRunsResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { Aligned, ButtonLink, Card, Money, Status, Table, Time, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { runStatusLabel } from "../status-labels.ts";

const COLUMNS: readonly Column<Run>[] = [
  {
    head: "Tool",
    cell: ({ runId, tool }) => (
      <Link href={`/runs/${runId}`} className="row-link">
        {tool}
      </Link>
    ),
  },
  {
    head: "Status",
    cell: ({ status, error }) => {
      const { text, kind } = runStatusLabel(status);
      return (
        <span>
          <Status kind={kind}>{text}</Status> {error && <code className="faint">{error.code}</code>}
        </span>
      );
    },
  },
  { head: "Time", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  {
    head: "Cost",
    align: "end",
    cell: ({ spentUsdcMicrousd }) => <Money microUsd={spentUsdcMicrousd} aligned />,
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
        {({ items }) => (
          <Aligned amounts={items.map(({ spentUsdcMicrousd }) => spentUsdcMicrousd)}>
            <Table
              caption="Recent calls"
              columns={COLUMNS}
              rows={items}
              rowKey={({ runId }) => runId}
              empty={null}
            />
          </Aligned>
        )}
      </QueryResult>
    </Card>
  );
}
