import { useQuery } from "@connectrpc/connect-query";
import {
  OperationsService,
  type GetStatusResponse,
  type EndpointStatus,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { QueryResult } from "../query-result.tsx";
import { AuditCard } from "./audit-card.tsx";
import { FindCard } from "./find-card.tsx";
import { JobsCard, useJobs } from "./jobs-card.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { ThroughputCard } from "./throughput-card.tsx";
import { TreasuryCard } from "./treasury-card.tsx";
import "./operator.css";
import { Link } from "wouter";
import { pluralize, formatCount, formatUsd } from "../../format.ts";
import { Stat, Stats, Card, EmptyState, Status, Table, type Column } from "../../ui/index.ts";

/** State of the service and its dependencies, polled every few seconds. */
export function OperationsPage() {
  return (
    <OperatorPage title="Operations" lead="All instances. Amounts are from the ledger; times are UTC.">
      <State />
    </OperatorPage>
  );
}

function State() {
  const status = useQuery(OperationsService.method.getStatus, {}, { refetchInterval: 4_000 });
  const jobs = useJobs();
  // All at once: what arrives later would push the rest down.
  const both = jobs.isPending ? { ...status, data: undefined } : status;
  return (
    <QueryResult query={both} lines={10} box>
      {(now) => (
        <>
          <MoneyStats status={now} />
          <JobsCard query={jobs} />
          <div className="columns columns-two">
            <TreasuryCard treasury={now.treasury} feePayer={now.feePayer} />
            <ChainCard endpoints={now.endpoints} />
          </div>
          <AuditCard last={now.audit} />
          <ThroughputCard minutes={now.minutes} activeRuns={now.activeRuns} />
          <FindCard />
        </>
      )}
    </QueryResult>
  );
}

function MoneyStats({ status }: { status: GetStatusResponse }) {
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

const COLUMNS: readonly Column<EndpointStatus>[] = [
  { head: "Endpoint", cell: ({ host, problem }) => <Endpoint host={host} problem={problem} /> },
  {
    head: "State",
    cell: ({ healthy }) =>
      healthy ? <Status kind="ok">Healthy</Status> : <Status kind="bad">Unreachable</Status>,
  },
  { head: "Slot", align: "end", cell: ({ slot }) => (slot === undefined ? "—" : formatCount(slot)) },
  {
    head: "Behind",
    align: "end",
    cell: ({ slotsBehind }) => (slotsBehind === undefined ? "—" : formatCount(slotsBehind)),
  },
  {
    head: "Latency",
    align: "end",
    cell: ({ latencyMs }) => (latencyMs === undefined ? "—" : `${latencyMs} ms`),
  },
];

/** The RPC endpoints in order of preference. */
function ChainCard({ endpoints }: { endpoints: readonly EndpointStatus[] }) {
  return (
    <Card title="Chain" note="in order of preference" flush>
      <Table
        caption="RPC endpoints"
        columns={COLUMNS}
        rows={endpoints}
        rowKey={({ host }) => `${host}#${endpoints.findIndex((one) => one.host === host)}`}
        empty={<EmptyState title="No endpoints configured" />}
      />
    </Card>
  );
}

function Endpoint({ host, problem }: { host: string; problem: string }) {
  return (
    <div className="lines">
      <code>{host}</code>
      {problem !== "" && <span className="hint hint-bad">{problem}</span>}
    </div>
  );
}
