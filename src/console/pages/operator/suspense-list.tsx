import { createClient } from "@connectrpc/connect";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import {
  SuspenseStatus,
  TreasuryService,
  type SuspendedTransfer,
} from "#gen/toolgate/v1/treasury_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import { Button, Copyable, EmptyState, Money, Time, type Column } from "../../ui/index.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import { AssignDialog } from "./assign-dialog.tsx";

/** Transfers in suspense, or assigned ones. */
export function SuspenseList({ open }: { open: boolean }) {
  const client = useMemo(() => createClient(TreasuryService, transport), []);
  const status = open ? SuspenseStatus.OPEN : SuspenseStatus.ASSIGNED;
  const list = usePagedList(["suspense", String(status)], (page, signal) =>
    client.listSuspense({ ...page, status }, { signal }),
  );
  const [assigning, setAssigning] = useState<SuspendedTransfer>();
  const columns: readonly Column<SuspendedTransfer>[] = [
    {
      head: "Transaction",
      cell: ({ txSignature }) => <Copyable text={txSignature} label="signature" short />,
    },
    {
      head: "From",
      cell: ({ payer }) => (payer === undefined ? "unknown" : <Copyable text={payer} label="payer" short />),
    },
    { head: "Memos", cell: ({ memos }) => <Memos text={memos} /> },
    { head: "Time", cell: ({ blockTime }) => <Time at={blockTime} /> },
    {
      head: "Amount",
      align: "end",
      cell: ({ amountUsdcMicrousd }) => <Money microUsd={amountUsdcMicrousd} aligned />,
    },
    open
      ? {
          head: "Actions",
          hideHead: true,
          align: "end",
          cell: (transfer) => (
            <Button small onClick={() => setAssigning(transfer)}>
              Assign
            </Button>
          ),
        }
      : { head: "Assigned to", cell: (transfer) => <AssignedTo transfer={transfer} /> },
  ];
  return (
    <>
      <ListCard
        caption={open ? "Transfers in suspense" : "Assigned transfers"}
        list={list}
        columns={columns}
        rowKey={({ txSignature }) => txSignature}
        amounts={({ amountUsdcMicrousd }) => [amountUsdcMicrousd]}
        shown={(rows) => pluralize(rows, "transfer")}
        empty={
          <EmptyState title={open ? "No unassigned transfers" : "No assigned transfers yet"}>
            {open ? "Every transfer to the treasury is assigned." : "Assigned transfers are listed here."}
          </EmptyState>
        }
      />
      {assigning && <AssignDialog transfer={assigning} onClose={() => setAssigning(undefined)} />}
    </>
  );
}

/** Memos are untrusted text: <bdi> isolates their text direction. */
function Memos({ text }: { text: string | undefined }) {
  return text === undefined ? <span className="faint">none</span> : <bdi className="memo">{text}</bdi>;
}

function AssignedTo({ transfer: { owner, reason } }: { transfer: SuspendedTransfer }) {
  return (
    <div className="lines">
      {owner.case === "accountId" ? (
        <Link href={`/operator/accounts/${owner.value}`}>{truncateMiddle(owner.value, 10, 4)}</Link>
      ) : (
        "operator"
      )}
      <span className="hint">{reason}</span>
    </div>
  );
}
