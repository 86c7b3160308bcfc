import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { BalanceService, type Entry } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { pluralize, truncateMiddle } from "../../format.ts";
import {
  ButtonLink,
  EmptyState,
  ExternalLink,
  SignedMoney,
  Time,
  type Column,
  moneyColumn,
} from "../../ui/index.ts";
import { transactionHref } from "../on-chain.tsx";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { entryKindLabel } from "../status-labels.ts";
import { recordHref } from "./call.tsx";
import { ListCard } from "./list-card.tsx";

const columnsOf = (accountId: string | undefined): readonly Column<Entry>[] => [
  { head: "Entry", cell: ({ kind }) => <span className="entry-kind">{entryKindLabel(kind)}</span> },
  { head: "Time", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Reference", cell: (entry) => <EntryReference entry={entry} accountId={accountId} /> },
  {
    head: "Amount",
    align: "end",
    lead: true,
    cell: ({ amountUsdcMicrousd }) => <SignedMoney microUsd={amountUsdcMicrousd} aligned />,
  },
  moneyColumn("Balance after", ({ balanceUsdcMicrousd }) => balanceUsdcMicrousd),
];

/** Links the entry to its call or transaction, or shows the operator's note. */
function EntryReference({
  entry: { tool, receiptId, txSignature, note },
  accountId,
}: {
  entry: Entry;
  accountId: string | undefined;
}) {
  return (
    <span className="row">
      {receiptId !== undefined && (
        <Link href={recordHref("receipts", receiptId, accountId)}>{tool ?? "receipt"}</Link>
      )}
      {txSignature !== undefined && (
        <ExternalLink href={transactionHref(txSignature)}>
          <code>{truncateMiddle(txSignature)}</code>
        </ExternalLink>
      )}
      {note !== undefined && <span>{note}</span>}
    </span>
  );
}

/** Ledger entries with the balance after each; the reader's own without `accountId`. Holds are none. */
export function Statement({ accountId }: { accountId: string | undefined }) {
  const transport = useTransport();
  const list = usePagedList(
    ["entries", accountId ?? ""],
    (page, signal) =>
      createClient(BalanceService, transport).listEntries(
        { ...page, accountId: accountId ?? "" },
        { signal },
      ),
    { pollMs: () => POLL_MS },
  );
  return (
    <ListCard
      caption="Statement"
      list={list}
      columns={columnsOf(accountId)}
      rowKey={({ entryId }) => entryId}
      amounts={({ amountUsdcMicrousd, balanceUsdcMicrousd }) => [amountUsdcMicrousd, balanceUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "entry", "entries")}
      empty={
        <EmptyState
          title="No entries yet"
          action={accountId === undefined && <ButtonLink href="/deposit">Deposit</ButtonLink>}
        >
          Deposits, charges and refunds are listed here, each with the balance after it.
        </EmptyState>
      }
    />
  );
}
