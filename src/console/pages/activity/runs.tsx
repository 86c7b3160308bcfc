import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { pluralize } from "../../format.ts";
import { type Column, moneyColumn } from "../../ui/index.ts";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { durationLabel } from "../status-labels.ts";
import { callColumns, Outcome, recordHref, withCalls, type ListedCall } from "./call.tsx";
import { FilterBar } from "./filter-bar.tsx";
import {
  dateRangeError,
  RUN_STATUSES,
  runCondition,
  timestampRange,
  writeFilter,
  type FilteredListProps,
} from "./filter.ts";
import { EmptyList, ListCard } from "./list-card.tsx";

const columnsOf = (accountId: string | undefined): readonly Column<ListedCall<Run>>[] => [
  ...callColumns<Run>(({ runId }) => recordHref("runs", runId, accountId)),
  { head: "Status", cell: ({ call }) => <Outcome call={call} /> },
  {
    head: "Error",
    cell: ({ item: { error } }) =>
      error ? (
        <span className="run-error">
          <code>{error.code}</code>
          <span className="faint">{error.message}</span>
        </span>
      ) : (
        <span className="faint none">—</span>
      ),
  },
  { head: "Duration", align: "end", cell: ({ item }) => <span className="time">{durationLabel(item)}</span> },
  moneyColumn("Quoted", ({ item }) => item.quotedUsdcMicrousd),
  moneyColumn("Charged", ({ item }) => item.spentUsdcMicrousd, { lead: true }),
];

/** Poll interval while a run is active, ms. */
const ACTIVE_POLL_MS = 2_000;

export function Runs({ filter, accountId, onFilter }: FilteredListProps) {
  const transport = useTransport();
  const list = usePagedList(
    ["runs", accountId ?? "", writeFilter(filter)],
    async (page, signal) => {
      const { status, outcome } = runCondition(filter.status);
      const { items, calls, ...rest } = await createClient(HistoryService, transport).listRuns(
        {
          ...page,
          accountId: accountId ?? "",
          status,
          filter: {
            tool: filter.tool,
            keyId: filter.key,
            model: filter.model,
            outcome,
            ...timestampRange(filter),
          },
        },
        { signal },
      );
      return { items: withCalls(items, calls), nextCursor: rest.nextCursor };
    },
    { enabled: dateRangeError(filter) === undefined, pollMs: runsPollMs },
  );
  return (
    <ListCard
      caption="Runs"
      list={list}
      columns={columnsOf(accountId)}
      rowKey={({ item }) => item.runId}
      amounts={({ item }) => [item.quotedUsdcMicrousd, item.spentUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "run")}
      filter={<FilterBar filter={filter} statuses={RUN_STATUSES} accountId={accountId} onFilter={onFilter} />}
      empty={
        <EmptyList what="runs" filter={filter} accountId={accountId} onFilter={onFilter}>
          Paid calls and free calls with an idempotency key are listed here with status, duration and error.
        </EmptyList>
      }
    />
  );
}

/** A run that is shown as running ends soon. */
function runsPollMs(runs: readonly ListedCall<Run>[]): number {
  return runs.some(({ item }) => item.status === RunStatus.ACTIVE) ? ACTIVE_POLL_MS : POLL_MS;
}
