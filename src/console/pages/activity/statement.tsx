import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { BalanceService, type Entry } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import {
  ButtonLink,
  EmptyState,
  ExternalLink,
  Money,
  SignedMoney,
  Time,
  type Column,
} from "../../ui/index.ts";
import { transactionHref } from "../explorer.ts";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { entryKindLabel } from "../status-labels.ts";
import { ListCard } from "./list-card.tsx";

const COLUMNS: readonly Column<Entry>[] = [
  { head: "Entry", cell: ({ kind }) => <span className="entry-kind">{entryKindLabel(kind)}</span> },
  { head: "Time", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Reference", cell: (entry) => <EntryReference entry={entry} /> },
  {
    head: "Amount",
    align: "end",
    lead: true,
    cell: ({ amountUsdcMicrousd }) => <SignedMoney microUsd={amountUsdcMicrousd} aligned />,
  },
  {
    head: "Balance after",
    align: "end",
    cell: ({ balanceUsdcMicrousd }) => <Money microUsd={balanceUsdcMicrousd} aligned />,
  },
];

/** Links the entry to its call or transaction, or shows the operator's note. */
function EntryReference({ entry: { tool, receiptId, txSignature, note } }: { entry: Entry }) {
  return (
    <span className="row">
      {receiptId !== undefined && <Link href={`/receipts/${receiptId}`}>{tool ?? "receipt"}</Link>}
      {txSignature !== undefined && (
        <ExternalLink href={transactionHref(txSignature)}>
          <code>{truncateMiddle(txSignature)}</code>
        </ExternalLink>
      )}
      {note !== undefined && <span>{note}</span>}
    </span>
  );
}

/** The account's ledger entries with the balance after each. Holds are not entries. */
export function Statement() {
  const transport = useTransport();
  const list = usePagedList(
    ["entries"],
    (page, signal) => createClient(BalanceService, transport).listEntries(page, { signal }),
    { pollMs: () => POLL_MS },
  );
  return (
    <ListCard
      caption="Statement"
      list={list}
      columns={COLUMNS}
      rowKey={({ transferId }) => transferId.toString()}
      amounts={({ amountUsdcMicrousd, balanceUsdcMicrousd }) => [amountUsdcMicrousd, balanceUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "entry", "entries")}
      empty={
        <EmptyState title="No entries yet" action={<ButtonLink href="/deposit">Deposit</ButtonLink>}>
          Deposits, charges and refunds are listed here, each with the balance after it.
        </EmptyState>
      }
    />
  );
}
