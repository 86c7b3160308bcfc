import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";

/** The tabs of the activity page, as the address names them. */
export const TABS = ["receipts", "statement", "runs"] as const;

/** One of them. */
export type Tab = (typeof TABS)[number];

/** What the lists are narrowed to, as the page's address has it. Days are UTC, both included; empty: all. */
export interface Filter {
  readonly tab: Tab;
  readonly status: string;
  readonly tool: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
}

/** Words of the address for the statuses of receipts, in the order they are offered. */
export const RECEIPT_STATUSES: ReadonlyMap<string, ReceiptStatus> = new Map([
  ["final", ReceiptStatus.FINAL],
  ["refunded", ReceiptStatus.REFUNDED],
  ["reversed", ReceiptStatus.REVERSED],
]);

/** Words of the address for the statuses of runs. */
export const RUN_STATUSES: ReadonlyMap<string, RunStatus> = new Map([
  ["completed", RunStatus.COMPLETED],
  ["failed", RunStatus.FAILED],
  ["cancelled", RunStatus.CANCELLED],
  ["active", RunStatus.ACTIVE],
]);

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Reads the filter out of the address. What makes no sense there is left out: a link that was cut short still shows a list. */
export function readFilter(search: string): Filter {
  const params = new URLSearchParams(search);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "receipts";
  const statuses = tab === "receipts" ? RECEIPT_STATUSES : tab === "runs" ? RUN_STATUSES : undefined;
  const status = params.get("status") ?? "";
  return {
    tab,
    status: statuses?.has(status) === true ? status : "",
    tool: params.get("tool") ?? "",
    key: params.get("key") ?? "",
    from: parseDay(params.get("from")),
    to: parseDay(params.get("to")),
  };
}

/** Writes the filter as the address has it, with its question mark; only what narrows is there. */
export function writeFilter(filter: Filter): string {
  const params = new URLSearchParams();
  if (filter.tab !== "receipts") params.set("tab", filter.tab);
  for (const name of ["status", "tool", "key", "from", "to"] as const) {
    if (filter[name] !== "") params.set(name, filter[name]);
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** Whether anything is left out. */
export function isFiltered(filter: Filter): boolean {
  return writeFilter({ ...filter, tab: "receipts" }) !== "";
}

/** The filter without what narrows it. */
export function clearFilter(filter: Filter): Filter {
  return { tab: filter.tab, status: "", tool: "", key: "", from: "", to: "" };
}

/** What is wrong with its days; undefined when nothing is. */
export function dateRangeError({ from, to }: Pick<Filter, "from" | "to">): string | undefined {
  return from !== "" && to !== "" && from > to ? "The first day is after the last one." : undefined;
}

/** The span of the days as the services take it: from the first moment on, before the moment after the last day. */
export function timestampRange({ from, to }: Pick<Filter, "from" | "to">): {
  from?: Timestamp;
  to?: Timestamp;
} {
  return {
    ...(from === "" ? {} : { from: timestampFromDate(new Date(from)) }),
    ...(to === "" ? {} : { to: timestampFromDate(new Date(Date.parse(to) + DAY_MS)) }),
  };
}

/** Where the statement of the days is had as a file; the last day is in it, so the span ends before the day after. */
export function statementHref(days: Pick<Filter, "from" | "to">): string {
  const params = new URLSearchParams();
  if (days.from !== "") params.set("from", days.from);
  if (days.to !== "") params.set("to", isoDay(Date.parse(days.to) + DAY_MS));
  const text = params.toString();
  return `/console/export/statement.csv${text === "" ? "" : `?${text}`}`;
}

/** A moment's day, UTC: `2026-11-22`. */
export function isoDay(moment: number): string {
  return new Date(moment).toISOString().slice(0, 10);
}

function parseDay(text: string | null): string {
  if (text === null || !DAY.test(text)) return "";
  // 30 February parses nowhere, or as 2 March: either way it is not what comes back.
  const moment = Date.parse(text);
  return Number.isNaN(moment) || isoDay(moment) !== text ? "" : text;
}
