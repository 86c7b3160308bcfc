import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus, type Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { pluralize } from "../../format.ts";
import { Money, Status, Time, type Column } from "../../ui/index.ts";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { paymentMethodLabel, receiptStatusLabel } from "../status-labels.ts";
import { FilterBar } from "./filter-bar.tsx";
import { dateRangeError, RECEIPT_STATUSES, timestampRange, writeFilter, type Filter } from "./filter.ts";
import { ListCard } from "./list-card.tsx";
import { EmptyList } from "./empty-list.tsx";

const COLUMNS: readonly Column<Receipt>[] = [
  {
    head: "Time",
    cell: ({ receiptId, createdAt }) => (
      <Link href={`/receipts/${receiptId}`} className="row-link">
        <Time at={createdAt} />
      </Link>
    ),
  },
  { head: "Tool", cell: ({ tool }) => tool },
  {
    head: "Status",
    cell: ({ status }) => (
      <Status kind={receiptStatusLabel(status).kind}>{receiptStatusLabel(status).text}</Status>
    ),
  },
  { head: "Payment method", cell: ({ paidBy }) => paymentMethodLabel(paidBy) },
  {
    head: "Charged",
    align: "end",
    lead: true,
    cell: ({ debitedUsdcMicrousd }) => <Money microUsd={debitedUsdcMicrousd} aligned />,
  },
  {
    head: "Refunded",
    align: "end",
    cell: ({ refundedUsdcMicrousd }) =>
      refundedUsdcMicrousd > 0n ? (
        <Money microUsd={refundedUsdcMicrousd} aligned />
      ) : (
        <span className="faint none">—</span>
      ),
  },
];

/** The account's receipts. */
export function Receipts({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) {
  const transport = useTransport();
  const list = usePagedList(
    ["receipts", writeFilter(filter)],
    (page, signal) =>
      createClient(HistoryService, transport).listReceipts(
        {
          ...page,
          status: RECEIPT_STATUSES.get(filter.status) ?? ReceiptStatus.UNSPECIFIED,
          filter: { tool: filter.tool, keyId: filter.key, ...timestampRange(filter) },
        },
        { signal },
      ),
    { enabled: dateRangeError(filter) === undefined, pollMs: () => POLL_MS },
  );
  return (
    <ListCard
      caption="Receipts"
      list={list}
      columns={COLUMNS}
      rowKey={({ receiptId }) => receiptId}
      amounts={({ debitedUsdcMicrousd, refundedUsdcMicrousd }) => [debitedUsdcMicrousd, refundedUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "receipt")}
      filter={<FilterBar filter={filter} statuses={[...RECEIPT_STATUSES.keys()]} onFilter={onFilter} />}
      empty={
        <EmptyList what="receipts" filter={filter} onFilter={onFilter}>
          Each successful paid call has a receipt with its cost and payment method.
        </EmptyList>
      }
    />
  );
}
