import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { Link } from "wouter";
import { DepositService, DepositState, type Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { pluralize } from "../../format.ts";
import {
  ButtonLink,
  Card,
  EmptyState,
  Money,
  Pager,
  Status,
  Table,
  Time,
  type Column,
} from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { usePagedList } from "../paged-list.ts";
import { depositStateLabel } from "./steps.ts";

const COLUMNS: readonly Column<Deposit>[] = [
  {
    head: "Started",
    cell: ({ depositId, createdAt }) => (
      <Link href={`/deposit/${depositId}`} className="row-link">
        <Time at={createdAt} />
      </Link>
    ),
  },
  {
    head: "Status",
    cell: ({ state }) => (
      <Status kind={depositStateLabel(state).kind}>{depositStateLabel(state).text}</Status>
    ),
  },
  {
    head: "Requested",
    align: "end",
    cell: ({ amountUsdcMicrousd }) => <Money microUsd={amountUsdcMicrousd} />,
  },
  {
    head: "Credited",
    align: "end",
    cell: ({ state, creditedUsdcMicrousd }) =>
      state === DepositState.CREDITED ? (
        <Money microUsd={creditedUsdcMicrousd} />
      ) : (
        <span className="faint none">—</span>
      ),
  },
];

/** Without a payment so far. */
const UNPAID: ReadonlySet<DepositState> = new Set([DepositState.WAITING, DepositState.CANCELLED]);

/** The account's deposits; unpaid ones can still be paid. */
export function DepositList({ current }: { current: string | undefined }) {
  const transport = useTransport();
  const list = usePagedList(["deposits"], (page, signal) =>
    createClient(DepositService, transport).listDeposits(page, { signal }),
  );
  return (
    <Card
      title="Deposits"
      flush
      actions={
        current !== undefined && (
          <ButtonLink href="/deposit" small>
            New deposit
          </ButtonLink>
        )
      }
    >
      <QueryResult query={{ data: list.rows, error: list.error, refetch: list.retry }} lines={4} pad>
        {(rows) => (
          <Table
            caption="Deposits"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ depositId }) => depositId}
            dim={({ state, depositId }) => UNPAID.has(state) && depositId !== current}
            empty={<EmptyState title="No deposits yet">Choose an amount above to start one.</EmptyState>}
          />
        )}
      </QueryResult>
      {(list.page > 1 || (list.rows?.length ?? 0) > 0) && (
        <Pager
          shown={list.rows && pluralize(list.rows.length, "deposit")}
          page={list.page}
          newer={list.newer}
          older={list.older}
          busy={list.busy}
        />
      )}
    </Card>
  );
}
