import { createClient } from "@connectrpc/connect";
import { useMemo } from "react";
import { Link } from "wouter";
import {
  FailedPaymentKind,
  OperationsService,
  type FailedPayment,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import { Copyable, EmptyState, Money, Status, Time, type Column } from "../../ui/index.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import type { StatusLabel } from "../status-labels.ts";

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

/** Payments that bought nothing. */
export function FailedPayments() {
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

function failedPaymentLabel(kind: FailedPaymentKind): StatusLabel {
  switch (kind) {
    case FailedPaymentKind.REVERSED:
      return { text: "Reversed", kind: "bad" };
    case FailedPaymentKind.UNUSED:
      return { text: "Credited, unused", kind: "warn" };
    case FailedPaymentKind.RELAY:
      return { text: "Relay failed", kind: "off" };
    default:
      return { text: "Unknown", kind: "off" };
  }
}
