import { useMutation } from "@connectrpc/connect-query";
import { AuditService, type AuditLine } from "#gen/toolgate/v1/audit_service_pb.ts";
import { OperationsService, type LastAudit } from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatCount } from "../../format.ts";
import { reload } from "../../reload.ts";
import {
  Button,
  Card,
  EmptyState,
  ErrorNote,
  Status,
  Table,
  showToast,
  Time,
  type Column,
} from "../../ui/index.ts";

const COLUMNS: readonly Column<AuditLine>[] = [
  { head: "Invariant", cell: ({ invariant }) => <code>{invariant}</code> },
  { head: "Rule", cell: ({ description }) => <span className="soft">{description}</span> },
  { head: "Checked", align: "end", cell: ({ checked }) => formatCount(checked) },
  {
    head: "Violations",
    align: "end",
    cell: ({ violations }) =>
      violations === 0n ? (
        <Status kind="ok">None</Status>
      ) : (
        <Status kind="bad">{formatCount(violations)}</Status>
      ),
  },
];

export function AuditCard({ last }: { last: LastAudit | undefined }) {
  const { mutate, error, isPending } = useMutation(AuditService.method.runAudit);
  const run = () => {
    mutate(
      {},
      {
        onSuccess: ({ clean }) => {
          showToast(clean ? "Ledger balanced" : "The audit found violations", clean ? "ok" : "bad");
          void reload(OperationsService.method.getStatus);
        },
      },
    );
  };
  return (
    <Card
      title="Audit"
      note={last && <Ended last={last} />}
      actions={
        <Button small busy={isPending} onClick={run}>
          Run now
        </Button>
      }
      flush
    >
      {error && (
        <div className="pad">
          <ErrorNote error={error} />
        </div>
      )}
      <Table
        caption="Invariants of the ledger"
        columns={COLUMNS}
        rows={last?.lines ?? []}
        rowKey={({ invariant }) => invariant}
        empty={
          <EmptyState title="No audit since this instance started">
            An audit checks every ledger invariant without locks.
          </EmptyState>
        }
      />
    </Card>
  );
}

function Ended({ last: { at, clean } }: { last: LastAudit }) {
  return (
    <span className="row">
      <Time at={at} relative />
      {clean ? <Status kind="ok">Clean</Status> : <Status kind="bad">Violations</Status>}
    </span>
  );
}
