import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useState } from "react";
import { CallOutcome, HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus, type Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { pluralize } from "../../format.ts";
import { Money, RowButton, Status, type Column, moneyColumn, actionColumn } from "../../ui/index.ts";
import { RefundDialog } from "../refund-dialog.tsx";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { paymentMethodLabel, receiptStatusLabel } from "../status-labels.ts";
import { callColumns, Outcome, recordHref, withCalls, type ListedCall } from "./call.tsx";
import { FilterBar } from "./filter-bar.tsx";
import {
  dateRangeError,
  OUTCOMES,
  RECEIPT_STATUSES,
  timestampRange,
  writeFilter,
  type FilteredListProps,
} from "./filter.ts";
import { EmptyList, ListCard } from "./list-card.tsx";

function columnsOf(
  accountId: string | undefined,
  onRefund: (receipt: Receipt) => void,
): readonly Column<ListedCall<Receipt>>[] {
  return [
    ...callColumns<Receipt>(({ receiptId }) => recordHref("receipts", receiptId, accountId)),
    {
      head: "Outcome",
      cell: ({ item, call }) => (
        <span className="row">
          <Outcome call={call} />
          <ReceiptStatusBadge status={item.status} />
        </span>
      ),
    },
    { head: "Payment method", cell: ({ item }) => paymentMethodLabel(item.paidBy) },
    moneyColumn("Quoted", ({ item }) => item.quotedUsdcMicrousd),
    moneyColumn("Charged", ({ item }) => item.debitedUsdcMicrousd, { lead: true }),
    {
      head: "Refunded",
      align: "end",
      cell: ({ item: { refundedUsdcMicrousd } }) =>
        refundedUsdcMicrousd > 0n ? (
          <Money microUsd={refundedUsdcMicrousd} aligned />
        ) : (
          <span className="faint none">—</span>
        ),
    },
    ...(accountId === undefined ? [] : [refundColumn(onRefund)]),
  ];
}

/** Shows the status of a charge that does not stand. */
function ReceiptStatusBadge({ status }: { status: ReceiptStatus }) {
  if (status === ReceiptStatus.FINAL) return null;
  const { text, kind } = receiptStatusLabel(status);
  return <Status kind={kind}>{text}</Status>;
}

function refundColumn(onRefund: (receipt: Receipt) => void): Column<ListedCall<Receipt>> {
  return actionColumn(
    ({ item }) =>
      item.status === ReceiptStatus.FINAL && (
        <RowButton label="Refund" row={item.receiptId} onClick={() => onRefund(item)} />
      ),
  );
}

export function Receipts({ filter, accountId, onFilter }: FilteredListProps) {
  const transport = useTransport();
  const [refunding, setRefunding] = useState<Receipt>();
  const list = usePagedList(
    ["receipts", accountId ?? "", writeFilter(filter)],
    async (page, signal) => {
      const { items, calls, ...rest } = await createClient(HistoryService, transport).listReceipts(
        {
          ...page,
          accountId: accountId ?? "",
          status: RECEIPT_STATUSES.get(filter.status) ?? ReceiptStatus.UNSPECIFIED,
          filter: {
            tool: filter.tool,
            keyId: filter.key,
            model: filter.model,
            outcome: OUTCOMES.get(filter.outcome) ?? CallOutcome.UNSPECIFIED,
            ...timestampRange(filter),
          },
        },
        { signal },
      );
      return { items: withCalls(items, calls), nextCursor: rest.nextCursor };
    },
    { enabled: dateRangeError(filter) === undefined, pollMs: () => POLL_MS },
  );
  return (
    <>
      <ListCard
        caption="Receipts"
        list={list}
        columns={columnsOf(accountId, setRefunding)}
        rowKey={({ item }) => item.receiptId}
        amounts={({ item }) => [item.quotedUsdcMicrousd, item.debitedUsdcMicrousd, item.refundedUsdcMicrousd]}
        shown={(rows) => pluralize(rows, "receipt")}
        filter={
          <FilterBar
            filter={filter}
            statuses={[...RECEIPT_STATUSES.keys()]}
            outcomes={[...OUTCOMES.keys()]}
            accountId={accountId}
            onFilter={onFilter}
          />
        }
        empty={
          <EmptyList what="receipts" filter={filter} accountId={accountId} onFilter={onFilter}>
            Each successful paid call has a receipt with its cost and payment method.
          </EmptyList>
        }
      />
      {refunding && <RefundDialog receipt={refunding} onClose={() => setRefunding(undefined)} />}
    </>
  );
}
