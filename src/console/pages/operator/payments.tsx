import { useSearchParams, Link } from "wouter";
import {
  Tabs,
  Copyable,
  EmptyState,
  Money,
  Status,
  Time,
  type Column,
  actionColumn,
  Button,
  moneyColumn,
} from "../../ui/index.ts";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";
import { createClient } from "@connectrpc/connect";
import { useMemo, useState } from "react";
import {
  FailedPaymentKind,
  OperationsService,
  type FailedPayment,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import type { StatusLabel } from "../status-labels.ts";
import {
  SuspenseStatus,
  TreasuryService,
  type SuspendedTransfer,
} from "#gen/toolgate/v1/treasury_service_pb.ts";
import { AssignDialog } from "./assign-dialog.tsx";

const TABS = [
  { id: "open", label: "Suspense" },
  { id: "assigned", label: "Assigned" },
  { id: "failed", label: "Failed payments" },
] as const;

export function PaymentsPage() {
  const [search, setSearch] = useSearchParams();
  const tab = TABS.find(({ id }) => id === search.get("tab"))?.id ?? "open";
  return (
    <OperatorPage
      title="Payments"
      lead="Transfers to the treasury without a matching quote or deposit, and payments that bought nothing."
    >
      <Tabs
        label="Payments"
        tabs={TABS}
        current={tab}
        onChange={(id) => setSearch(id === "open" ? {} : { tab: id })}
      >
        {tab === "failed" ? <FailedPayments /> : <SuspenseList key={tab} open={tab === "open"} />}
      </Tabs>
    </OperatorPage>
  );
}

const COLUMNS: readonly Column<FailedPayment>[] = [
  { head: "Time", cell: ({ at }) => <Time at={at} /> },
  { head: "Outcome", cell: (payment) => <Kind payment={payment} /> },
  { head: "Transaction", cell: ({ txSignature }) => <Signature text={txSignature} /> },
  {
    head: "Account",
    cell: ({ accountId }) => (
      <Link href={`/operator/accounts/${accountId}`}>{truncateMiddle(accountId, 10, 4)}</Link>
    ),
  },
  {
    head: "Amount",
    align: "end",
    cell: ({ amountUsdcMicrousd: amount }) =>
      amount === undefined ? <span className="faint">none</span> : <Money microUsd={amount} aligned />,
  },
];

function FailedPayments() {
  const client = useMemo(() => createClient(OperationsService, transport), []);
  const list = usePagedList(["failed-payments"], (page, signal) =>
    client.listFailedPayments(page, { signal }),
  );
  return (
    <ListCard
      caption="Failed payments"
      list={list}
      columns={COLUMNS}
      rowKey={({ txSignature, quoteId, kind }) => `${txSignature}-${quoteId}-${kind}`}
      amounts={({ amountUsdcMicrousd: amount }) => (amount === undefined ? [] : [amount])}
      shown={(rows) => pluralize(rows, "payment")}
      empty={<EmptyState title="No failed payments">Every payment bought its call.</EmptyState>}
    />
  );
}

function Kind({ payment: { kind, reason } }: { payment: FailedPayment }) {
  const label = failedPaymentLabel(kind);
  return (
    <div className="lines">
      <span>
        <Status kind={label.kind}>{label.text}</Status>
      </span>
      {reason !== "" && <span className="hint">{reason}</span>}
    </div>
  );
}

function Signature({ text }: { text: string }) {
  return text === "" ? <span className="faint">none</span> : <Copyable text={text} label="signature" short />;
}

const FAILED_PAYMENT: Readonly<Record<number, StatusLabel>> = {
  [FailedPaymentKind.REVERSED]: { text: "Reversed", kind: "bad" },
  [FailedPaymentKind.UNUSED]: { text: "Credited, unused", kind: "warn" },
  [FailedPaymentKind.RELAY]: { text: "Relay failed", kind: "off" },
};

function failedPaymentLabel(kind: FailedPaymentKind): StatusLabel {
  return FAILED_PAYMENT[kind] ?? { text: "Unknown", kind: "off" };
}

function SuspenseList({ open }: { open: boolean }) {
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
    moneyColumn("Amount", ({ amountUsdcMicrousd }) => amountUsdcMicrousd),
    open
      ? actionColumn((transfer) => (
          <Button small onClick={() => setAssigning(transfer)}>
            Assign
          </Button>
        ))
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
