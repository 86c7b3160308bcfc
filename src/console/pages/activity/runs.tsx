import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { RunStatus, type Run } from "#gen/toolgate/v1/run_pb.ts";
import { pluralize } from "../../format.ts";
import { Money, Status, Time, type Column } from "../../ui/index.ts";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { durationLabel } from "../run/duration.ts";
import { runStatusLabel } from "../status-labels.ts";
import { FilterBar } from "./filter-bar.tsx";
import { dateRangeError, RUN_STATUSES, timestampRange, writeFilter, type Filter } from "./filter.ts";
import { ListCard } from "./list-card.tsx";
import { EmptyList } from "./empty-list.tsx";

const COLUMNS: readonly Column<Run>[] = [
  {
    head: "Time",
    cell: ({ runId, createdAt }) => (
      <Link href={`/runs/${runId}`} className="row-link">
        <Time at={createdAt} />
      </Link>
    ),
  },
  { head: "Tool", cell: ({ tool }) => tool },
  {
    head: "Status",
    cell: ({ status }) => <Status kind={runStatusLabel(status).kind}>{runStatusLabel(status).text}</Status>,
  },
  {
    head: "Error",
    cell: ({ error }) =>
      error ? (
        <span className="run-error">
          <code>{error.code}</code>
          <span className="faint">{error.message}</span>
        </span>
      ) : (
        <span className="faint none">—</span>
      ),
  },
  { head: "Duration", align: "end", cell: (run) => <span className="time">{durationLabel(run)}</span> },
  {
    head: "Cost",
    align: "end",
    lead: true,
    cell: ({ spentUsdcMicrousd }) => <Money microUsd={spentUsdcMicrousd} aligned />,
  },
];

/** Poll interval while a run is active, ms. */
const ACTIVE_POLL_MS = 2_000;

/** The account's runs, charged or not. */
export function Runs({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) {
  const transport = useTransport();
  const list = usePagedList(
    ["runs", writeFilter(filter)],
    (page, signal) =>
      createClient(HistoryService, transport).listRuns(
        {
          ...page,
          status: RUN_STATUSES.get(filter.status) ?? RunStatus.UNSPECIFIED,
          filter: { tool: filter.tool, keyId: filter.key, ...timestampRange(filter) },
        },
        { signal },
      ),
    { enabled: dateRangeError(filter) === undefined, pollMs: runsPollMs },
  );
  return (
    <ListCard
      caption="Runs"
      list={list}
      columns={COLUMNS}
      rowKey={({ runId }) => runId}
      amounts={({ spentUsdcMicrousd }) => [spentUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "run")}
      filter={<FilterBar filter={filter} statuses={[...RUN_STATUSES.keys()]} onFilter={onFilter} />}
      empty={
        <EmptyList what="runs" filter={filter} onFilter={onFilter}>
          Paid calls and free calls with an idempotency key are listed here with status, duration and error.
        </EmptyList>
      }
    />
  );
}

/** A run that is shown as running ends soon. */
function runsPollMs(runs: readonly Run[]): number {
  return runs.some(({ status }) => status === RunStatus.ACTIVE) ? ACTIVE_POLL_MS : POLL_MS;
}
