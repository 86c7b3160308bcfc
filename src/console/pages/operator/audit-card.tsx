import { useMutation } from "@connectrpc/connect-query";
import { AuditService, type AuditLine } from "#gen/toolgate/v1/audit_service_pb.ts";
import { OperationsService, type LastAudit } from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatCount, pluralize } from "../../format.ts";
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
      {last ? (
        <Rules lines={last.lines} />
      ) : (
        <EmptyState title="No audit since this instance started">
          An audit checks every ledger invariant without locks.
        </EmptyState>
      )}
    </Card>
  );
}

/** Rules without violations are of interest to few. */
function Rules({ lines }: { lines: readonly AuditLine[] }) {
  const broken = lines.filter(({ violations }) => violations > 0n);
  const clean = lines.filter(({ violations }) => violations === 0n);
  const table = (rows: readonly AuditLine[], caption: string) => (
    <Table
      caption={caption}
      columns={COLUMNS}
      rows={rows}
      rowKey={({ invariant }) => invariant}
      empty={null}
    />
  );
  return (
    <>
      {broken.length > 0 && table(broken, "Violated invariants of the ledger")}
      <details className="rules">
        <summary>
          {pluralize(clean.length, "rule")}
          {broken.length === 0 ? ", all clean" : " without violations"}
        </summary>
        {table(clean, "Invariants of the ledger")}
      </details>
    </>
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
