import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";

/** The tabs of the activity page, as written in the URL. */
export const TABS = ["receipts", "statement", "runs"] as const;

/** A tab of the activity page. */
export type Tab = (typeof TABS)[number];

/** The filter of a list, as written in the URL. Days are UTC and inclusive; empty means any. */
export interface Filter {
  readonly tab: Tab;
  readonly status: string;
  readonly tool: string;
  readonly key: string;
  readonly from: string;
  readonly to: string;
}

/** Receipt statuses as written in the URL, in display order. */
export const RECEIPT_STATUSES: ReadonlyMap<string, ReceiptStatus> = new Map([
  ["final", ReceiptStatus.FINAL],
  ["refunded", ReceiptStatus.REFUNDED],
  ["reversed", ReceiptStatus.REVERSED],
]);

/** Run statuses as written in the URL, in display order. */
export const RUN_STATUSES: ReadonlyMap<string, RunStatus> = new Map([
  ["completed", RunStatus.COMPLETED],
  ["failed", RunStatus.FAILED],
  ["cancelled", RunStatus.CANCELLED],
  ["active", RunStatus.ACTIVE],
]);

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Parses the filter from the URL. Ignores invalid parts, so that a truncated link still shows a list. */
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

/** Formats the filter as a query string; omits defaults. */
export function writeFilter(filter: Filter): string {
  const params = new URLSearchParams();
  if (filter.tab !== "receipts") params.set("tab", filter.tab);
  for (const name of ["status", "tool", "key", "from", "to"] as const) {
    if (filter[name] !== "") params.set(name, filter[name]);
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** Whether the filter excludes anything. */
export function isFiltered(filter: Filter): boolean {
  return writeFilter({ ...filter, tab: "receipts" }) !== "";
}

/** Returns the same tab without a filter. */
export function clearFilter(filter: Filter): Filter {
  return { tab: filter.tab, status: "", tool: "", key: "", from: "", to: "" };
}

/** Returns an error for an inverted date range, otherwise undefined. */
export function dateRangeError({ from, to }: Pick<Filter, "from" | "to">): string | undefined {
  return from !== "" && to !== "" && from > to ? "The first day is after the last day." : undefined;
}

/** Converts inclusive days to a half-open range of timestamps. */
export function timestampRange({ from, to }: Pick<Filter, "from" | "to">): {
  from?: Timestamp;
  to?: Timestamp;
} {
  return {
    ...(from === "" ? {} : { from: timestampFromDate(new Date(from)) }),
    ...(to === "" ? {} : { to: timestampFromDate(new Date(Date.parse(to) + DAY_MS)) }),
  };
}

/** Returns the URL of the CSV export; its `to` is exclusive. */
export function statementHref(days: Pick<Filter, "from" | "to">): string {
  const params = new URLSearchParams();
  if (days.from !== "") params.set("from", days.from);
  if (days.to !== "") params.set("to", isoDay(Date.parse(days.to) + DAY_MS));
  const text = params.toString();
  return `/console/export/statement.csv${text === "" ? "" : `?${text}`}`;
}

/** Formats the UTC day of a timestamp: `2026-11-22`. */
export function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function parseDay(text: string | null): string {
  if (text === null || !DAY.test(text)) return "";
  // Date.parse may accept 30 February as 2 March, so compare with the input.
  const time = Date.parse(text);
  return Number.isNaN(time) || isoDay(time) !== text ? "" : text;
}
