import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Link } from "wouter";
import {
  RequestLogService,
  RequestOutcome,
  type LoggedRequest,
} from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import { formatCount, formatDuration, pluralize } from "../../format.ts";
import { Checkbox, Status, Time, type Column, moneyColumn } from "../../ui/index.ts";
import { createStore } from "../../store.ts";
import { POLL_MS, usePagedList } from "../paged-list.ts";
import { statusLabel } from "../status-labels.ts";
import { CallKey, recordHref } from "./call.tsx";
import { FilterBar } from "./filter-bar.tsx";
import {
  dateRangeError,
  REQUEST_OUTCOMES,
  timestampRange,
  writeFilter,
  type FilteredListProps,
} from "./filter.ts";
import { EmptyList, ListCard } from "./list-card.tsx";

/** Poll interval of the live list, ms. */
const LIVE_POLL_MS = 1_000;

/** Kept while other pages are shown. */
const live = createStore(false);

/** When a request ended: the order of the list. */
function endOf({ receivedAt, totalUs }: LoggedRequest): Date | undefined {
  return receivedAt && new Date(timestampMs(receivedAt) + Number(totalUs) / 1_000);
}

const columnsOf = (accountId: string | undefined): readonly Column<LoggedRequest>[] => [
  {
    head: "Ended",
    cell: (request) => (
      <Link href={recordHref("activity/requests", request.id, accountId)} className="row-link">
        <Time at={endOf(request)} />
      </Link>
    ),
  },
  { head: "Tool", cell: ({ tool, method }) => (tool === "" ? <code>{method}</code> : tool) },
  { head: "Key", cell: (request) => <CallKey call={request} /> },
  {
    head: "Status",
    cell: ({ status, code, repeats }) => (
      <span className="row">
        <Status kind={statusLabel(status).kind}>{statusLabel(status).text}</Status>
        {code !== "" && <code>{code}</code>}
        {repeats > 0 && <span className="faint">{formatCount(repeats)} more like it</span>}
      </span>
    ),
  },
  {
    head: "Duration",
    align: "end",
    cell: ({ totalUs }) => <span className="time">{formatDuration(Number(totalUs) / 1000)}</span>,
  },
  moneyColumn("Charged", ({ chargedUsdcMicrousd }) => chargedUsdcMicrousd, { lead: true }),
];

export function Requests({ filter, accountId, onFilter }: FilteredListProps) {
  const transport = useTransport();
  const isLive = live.use();
  const list = usePagedList(
    ["requests", accountId ?? "", writeFilter(filter)],
    (page, signal) =>
      createClient(RequestLogService, transport).listRequests(
        {
          ...page,
          accountId: accountId ?? "",
          filter: {
            outcome: outcomeOf(filter.status),
            tool: filter.tool,
            keyId: filter.key,
            ...timestampRange(filter),
          },
        },
        { signal },
      ),
    { enabled: dateRangeError(filter) === undefined, pollMs: () => (isLive ? LIVE_POLL_MS : POLL_MS) },
  );
  return (
    <ListCard
      caption="Requests"
      list={list}
      columns={columnsOf(accountId)}
      rowKey={({ id }) => id}
      amounts={({ chargedUsdcMicrousd }) => [chargedUsdcMicrousd]}
      shown={(rows) => pluralize(rows, "request")}
      filter={
        <>
          <FilterBar filter={filter} statuses={REQUEST_OUTCOMES} accountId={accountId} onFilter={onFilter} />
          <div className="pad">
            <Checkbox
              label="Live"
              hint="New requests appear within two seconds."
              checked={isLive}
              onChange={({ currentTarget }) => live.set(currentTarget.checked)}
            />
          </div>
        </>
      }
      empty={
        <EmptyList what="requests" filter={filter} accountId={accountId} onFilter={onFilter}>
          Paid calls and refused requests are listed here. Settings decides about free calls, params and
          results.
        </EmptyList>
      }
    />
  );
}

/** In the order of {@link REQUEST_OUTCOMES}. */
const OUTCOMES = [
  RequestOutcome.SUCCEEDED,
  RequestOutcome.PAYMENT_REQUIRED,
  RequestOutcome.REFUSED,
  RequestOutcome.FAILED,
] as const;

function outcomeOf(status: string): RequestOutcome {
  return OUTCOMES[REQUEST_OUTCOMES.findIndex((name) => name === status)] ?? RequestOutcome.UNSPECIFIED;
}
