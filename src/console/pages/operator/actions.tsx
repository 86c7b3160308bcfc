import { createClient } from "@connectrpc/connect";
import { useMemo } from "react";
import { OperationsService, type OperatorAction } from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import { EmptyState, Status, Time, type Column } from "../../ui/index.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";

const COLUMNS: readonly Column<OperatorAction>[] = [
  { head: "Time", cell: ({ at }) => <Time at={at} /> },
  { head: "Action", cell: (action) => <ActionName action={action} /> },
  { head: "Target", cell: ({ target }) => <code title={target}>{truncateMiddle(target, 14, 6)}</code> },
  { head: "Details", cell: ({ details }) => <Details json={details} /> },
  { head: "Operator", cell: (action) => <Actor action={action} /> },
];

export function ActionsPage() {
  return (
    <OperatorPage
      title="Audit log"
      lead="All operator actions from the console, the API and the command line. Entries cannot be changed."
    >
      <Actions />
    </OperatorPage>
  );
}

function Actions() {
  const client = useMemo(() => createClient(OperationsService, transport), []);
  const list = usePagedList(["actions"], (page, signal) => client.listActions(page, { signal }));
  return (
    <ListCard
      caption="Operator actions"
      list={list}
      columns={COLUMNS}
      rowKey={({ actionId }) => actionId}
      amounts={() => []}
      shown={(rows) => pluralize(rows, "action")}
      empty={
        <EmptyState title="No operator actions yet">
          Blocks, adjustments and assignments are listed here.
        </EmptyState>
      }
    />
  );
}

function ActionName({ action: { action, failure } }: { action: OperatorAction }) {
  return (
    <div className="lines">
      <code>{action}</code>
      {failure !== "" && (
        <span>
          <Status kind="bad">Failed</Status> <span className="hint">{failure}</span>
        </span>
      )}
    </div>
  );
}

function Details({ json }: { json: string }) {
  return json === "" || json === "{}" ? (
    <span className="faint">—</span>
  ) : (
    <code className="details">{json}</code>
  );
}

function Actor({ action: { accountId, actor } }: { action: OperatorAction }) {
  return (
    <div className="lines">
      <span>{accountId === "" ? "Command line" : truncateMiddle(accountId, 10, 4)}</span>
      <code className="faint" title={actor}>
        {truncateMiddle(actor, 12, 4)}
      </code>
    </div>
  );
}
