import { useQuery } from "@connectrpc/connect-query";
import {
  OperationsService,
  type JobState,
  type ListJobsResponse,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatDuration, pluralize } from "../../format.ts";
import { Card, EmptyState, Status, Table, Time, type Column } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";

/** The last run of each background job of all instances. */
export function useJobs() {
  return useQuery(OperationsService.method.listJobs, {}, { refetchInterval: 10_000 });
}

export function JobsCard({ query }: { query: ReturnType<typeof useJobs> }) {
  return (
    <Card title="Jobs" note={query.data && <Leader jobs={query.data} />} flush>
      <QueryResult query={query} lines={6} pad>
        {({ jobs }) => (
          <Table
            caption="Background jobs"
            columns={COLUMNS}
            rows={jobs}
            rowKey={({ name }) => name}
            empty={
              <EmptyState title="No job has run yet">Jobs start a few seconds after the servers.</EmptyState>
            }
          />
        )}
      </QueryResult>
    </Card>
  );
}

function Leader({ jobs: { leader, instance } }: { jobs: ListJobsResponse }) {
  if (leader === "") return <Status kind="bad">No leader</Status>;
  return (
    <span title={leader}>
      leader {leader.slice(0, 8)}
      {leader === instance && ", this instance"}
    </span>
  );
}

const COLUMNS: readonly Column<JobState>[] = [
  { head: "Job", cell: ({ name }) => <code>{name}</code> },
  { head: "Result", cell: (job) => <Result job={job} /> },
  { head: "Started", cell: ({ startedAt }) => <Time at={startedAt} relative /> },
  { head: "Took", align: "end", cell: ({ durationMs }) => formatDuration(Number(durationMs)) },
  { head: "Next", cell: ({ nextAt }) => <Time at={nextAt} /> },
  {
    head: "Instance",
    cell: ({ instance }) => <code title={instance}>{instance.slice(0, 8)}</code>,
  },
];

function Result({ job: { failure, failures, succeededAt } }: { job: JobState }) {
  if (failure === "") return <Status kind="ok">Succeeded</Status>;
  return (
    <div className="lines">
      <Status kind="bad">{pluralize(failures, "failure")} in a row</Status>
      <span className="hint">{failure}</span>
      <span className="hint">
        Last success: <Time at={succeededAt} relative none="never" />
      </span>
    </div>
  );
}
