import { Link } from "wouter";
import type { CallInfo } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import type { Run } from "#gen/toolgate/v1/run_pb.ts";
import { truncateMiddle } from "../../format.ts";
import { Name, Status, Time, type Column, Copyable } from "../../ui/index.ts";
import { outcomeLabel } from "../status-labels.ts";

export interface ListedCall<Item> {
  readonly item: Item;
  readonly call: CallInfo | undefined;
}

/** Returns the columns that the lists of receipts and runs begin with. */
export function callColumns<Item extends Receipt | Run>(
  hrefOf: (item: Item) => string,
): readonly Column<ListedCall<Item>>[] {
  return [
    {
      head: "Time",
      cell: ({ item }) => (
        <Link href={hrefOf(item)} className="row-link">
          <Time at={item.createdAt} />
        </Link>
      ),
    },
    { head: "Tool", cell: ({ item }) => item.tool },
    { head: "Key", cell: ({ call }) => <CallKey call={call} /> },
  ];
}

/** Joins the items of a page with `calls`, which has the same order. */
export function withCalls<Item>(items: readonly Item[], calls: readonly CallInfo[]): ListedCall<Item>[] {
  return items.map((item, index) => ({ item, call: calls[index] }));
}

export function Outcome({ call }: { call: Pick<CallInfo, "outcome"> | undefined }) {
  const { text, kind } = outcomeLabel(call?.outcome);
  return <Status kind={kind}>{text}</Status>;
}

export function CallKey({ call }: { call: Pick<CallInfo, "keyId" | "keyName"> | undefined }) {
  if (call === undefined || call.keyId === "") return <span className="faint none">—</span>;
  const name = call.keyName === "" ? truncateMiddle(call.keyId) : call.keyName;
  return <Name name={name} />;
}

/** Returns the address of a receipt, run or request; an operator's address names the account. */
export function recordHref(
  kind: "receipts" | "runs" | "activity/requests",
  id: string,
  accountId: string | undefined,
): string {
  return `/${kind}/${id}${accountId === undefined ? "" : `?account=${accountId}`}`;
}

export function listHref(tab: "receipts" | "runs" | "requests", accountId: string | undefined): string {
  return `${accountId === undefined ? "/activity" : `/operator/accounts/${accountId}`}?tab=${tab}`;
}

/** The key of a call: its name, and its id to copy. The name of an own key links to Keys. */
export function KeyName({ keyId, name, own }: { keyId: string; name: string; own: boolean }) {
  if (keyId === "") return "not recorded";
  return (
    <span className="row">
      {name !== "" && !own && <Name name={name} />}
      {name !== "" && own && (
        <Link href="/keys">
          <Name name={name} />
        </Link>
      )}
      <Copyable text={keyId} label="key id" short />
    </span>
  );
}
