import { createClient } from "@connectrpc/connect";
import { useDeferredValue, useMemo } from "react";
import { Link, useSearchParams } from "wouter";
import { AccountService, type Account } from "#gen/toolgate/v1/account_service_pb.ts";
import { pluralize, formatCount, truncateMiddle } from "../../format.ts";
import { transport } from "../../rpc.ts";
import { EmptyState, Status, Time, type Column, TextField, moneyColumn } from "../../ui/index.ts";
import { ListCard } from "../activity/list-card.tsx";
import { usePagedList } from "../paged-list.ts";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";

const COLUMNS: readonly Column<Account>[] = [
  {
    head: "Account",
    cell: ({ accountId }) => (
      <Link className="row-link" href={`/operator/accounts/${accountId}`}>
        {truncateMiddle(accountId, 10, 6)}
      </Link>
    ),
  },
  { head: "Wallet", cell: ({ wallet }) => <code title={wallet}>{truncateMiddle(wallet, 6, 6)}</code> },
  { head: "State", cell: (account) => <AccountState account={account} /> },
  { head: "Rate", align: "end", cell: ({ ratePerMinute }) => `${formatCount(ratePerMinute)} / min` },
  { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
  moneyColumn("Balance", ({ balanceUsdcMicrousd }) => balanceUsdcMicrousd),
];

export function AccountsPage() {
  return (
    <OperatorPage title="Accounts" lead="Accounts are created at the first sign-in or by an operator.">
      <Accounts />
    </OperatorPage>
  );
}

function Accounts() {
  const [search, setSearch] = useSearchParams();
  const text = search.get("q") ?? "";
  const query = useDeferredValue(text.trim().slice(0, 100));
  const client = useMemo(() => createClient(AccountService, transport), []);
  const list = usePagedList(["accounts", query], (page, signal) =>
    client.listAccounts({ ...page, query }, { signal }),
  );
  return (
    <ListCard
      caption="Accounts"
      list={list}
      columns={COLUMNS}
      rowKey={({ accountId }) => accountId}
      amounts={({ balanceUsdcMicrousd }) => [balanceUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "account")}
      filter={
        <div className="search-row">
          <TextField
            label="Search"
            hint="Start of an account, wallet or key identifier, or of a key’s secret"
            type="search"
            maxLength={100}
            placeholder="acct_…, a wallet, key_…, sk-agent-…"
            value={text}
            onChange={({ target }) =>
              setSearch(target.value === "" ? {} : { q: target.value }, { replace: true })
            }
          />
        </div>
      }
      empty={
        <EmptyState title={query === "" ? "No accounts yet" : "No matching accounts"}>
          {query === ""
            ? "Accounts are created at the first sign-in."
            : "Search matches the start of an identifier only."}
        </EmptyState>
      }
    />
  );
}

export function AccountState({ account: { blockedReason, operator } }: { account: Account }) {
  return (
    <span className="row">
      {blockedReason === undefined ? <Status kind="ok">Active</Status> : <Status kind="bad">Blocked</Status>}
      {operator && <Status kind="off">Operator</Status>}
    </span>
  );
}
