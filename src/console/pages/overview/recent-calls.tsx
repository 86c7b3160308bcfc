import { Link } from "wouter";
import type { ListRunsResponse } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { Aligned, ButtonLink, Card, Money, Status, Table, Time, type Column } from "../../ui/index.ts";
import { Loaded } from "../query-result.tsx";
import { runWord } from "../status-labels.ts";

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
      const { word, kind } = runWord(status);
      return (
        <span>
          <Status kind={kind}>{word}</Status> {error && <code className="faint">{error.code}</code>}
        </span>
      );
    },
  },
  { head: "When", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  {
    head: "Cost",
    align: "end",
    cell: ({ spentUsdcMicrousd }) => <Money microUsd={spentUsdcMicrousd} aligned />,
  },
];

/** What was called last, whether it was charged or not. */
export function LastCalls({
  asked,
}: {
  asked: { data: ListRunsResponse | undefined; error: unknown; refetch: () => unknown };
}) {
  return (
    <Card
      title="Last calls"
      flush
      actions={
        <ButtonLink href="/activity?tab=runs" small tone="quiet">
          All runs
        </ButtonLink>
      }
    >
      <Loaded asked={asked} lines={6} pad>
        {({ items }) => (
          <Aligned amounts={items.map(({ spentUsdcMicrousd }) => spentUsdcMicrousd)}>
            <Table
              caption="The last calls"
              columns={COLUMNS}
              rows={items}
              rowKey={({ runId }) => runId}
              empty={null}
            />
          </Aligned>
        )}
      </Loaded>
    </Card>
  );
}
