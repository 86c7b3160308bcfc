import { useQuery } from "@connectrpc/connect-query";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { QueryResult } from "../query-result.tsx";
import { AuditCard } from "./audit-card.tsx";
import { ChainCard } from "./chain-card.tsx";
import { FindCard } from "./find-card.tsx";
import { JobsCard } from "./jobs-card.tsx";
import { MoneyStats } from "./money-stats.tsx";
import { OperatorPage } from "./operator-page.tsx";
import { ThroughputCard } from "./throughput-card.tsx";
import { TreasuryCard } from "./treasury-card.tsx";
import "./operator.css";

/** State of the service and its dependencies, polled every few seconds. */
export function OperationsPage() {
  return (
    <OperatorPage title="Operations" lead="All instances. Amounts are from the ledger; times are UTC.">
      <FindCard />
      <State />
    </OperatorPage>
  );
}

function State() {
  const status = useQuery(OperationsService.method.getStatus, {}, { refetchInterval: 4_000 });
  return (
    <QueryResult query={status} lines={10} box>
      {(now) => (
        <>
          <MoneyStats status={now} />
          <ThroughputCard minutes={now.minutes} activeRuns={now.activeRuns} />
          <div className="columns columns-two">
            <TreasuryCard treasury={now.treasury} feePayer={now.feePayer} />
            <ChainCard endpoints={now.endpoints} />
          </div>
          <AuditCard last={now.audit} />
          {/* Here, so that the state does not push it down when it arrives. */}
          <JobsCard />
        </>
      )}
    </QueryResult>
  );
}
