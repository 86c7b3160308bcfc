import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { CallOutcome } from "#gen/toolgate/console/v1/history_service_pb.ts";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";

/** The tabs of the activity page, as written in the URL. */
export const TABS = ["receipts", "statement", "runs", "requests"] as const;

export type Tab = (typeof TABS)[number];

/** The filter of a list, as written in the URL. Days are UTC and inclusive; empty means any. */
export interface Filter {
  readonly tab: Tab;
  readonly status: string;
  /** Of receipts; the status of runs includes it. */
  readonly outcome: string;
  readonly tool: string;
  readonly key: string;
  /** Of receipts and runs. */
  readonly model: string;
  readonly from: string;
  readonly to: string;
}

/** Props of the lists with a filter. */
export interface FilteredListProps {
  filter: Filter;
  /** The reader's own if undefined. */
  accountId: string | undefined;
  onFilter: (filter: Filter) => void;
}

/** Receipt statuses as written in the URL, in display order. */
export const RECEIPT_STATUSES: ReadonlyMap<string, ReceiptStatus> = new Map([
  ["final", ReceiptStatus.FINAL],
  ["refunded", ReceiptStatus.REFUNDED],
  ["reversed", ReceiptStatus.REVERSED],
]);

/** Outcomes as written in the URL, in display order. */
export const OUTCOMES: ReadonlyMap<string, CallOutcome> = new Map([
  ["succeeded", CallOutcome.SUCCEEDED],
  ["failed", CallOutcome.FAILED],
  ["timeout", CallOutcome.TIMEOUT],
  ["limit", CallOutcome.LIMIT],
  ["cancelled", CallOutcome.CANCELLED],
]);

/** Run statuses as written in the URL, in display order. Failed code counts as failed. */
export const RUN_STATUSES: readonly string[] = [...OUTCOMES.keys(), "running"];

/** Converts a run status of the URL to the fields of a request. */
export function runCondition(status: string): { status: RunStatus; outcome: CallOutcome } {
  return {
    status: status === "running" ? RunStatus.ACTIVE : RunStatus.UNSPECIFIED,
    outcome: OUTCOMES.get(status) ?? CallOutcome.UNSPECIFIED,
  };
}

/** Outcomes of requests as written in the URL, in display order. */
export const REQUEST_OUTCOMES = ["succeeded", "payment required", "refused", "failed"] as const;

const STATUSES: Readonly<Record<Tab, readonly string[]>> = {
  receipts: [...RECEIPT_STATUSES.keys()],
  statement: [],
  runs: RUN_STATUSES,
  requests: REQUEST_OUTCOMES,
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Parses the filter from the URL. Ignores invalid parts, so that a truncated link still shows a list. */
export function readFilter(search: string): Filter {
  const params = new URLSearchParams(search);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "receipts";
  const [status, outcome] = [params.get("status") ?? "", params.get("outcome") ?? ""];
  return {
    tab,
    status: STATUSES[tab].includes(status) ? status : "",
    outcome: tab === "receipts" && OUTCOMES.has(outcome) ? outcome : "",
    tool: params.get("tool") ?? "",
    key: params.get("key") ?? "",
    model: tab === "receipts" || tab === "runs" ? (params.get("model") ?? "") : "",
    from: parseDay(params.get("from")),
    to: parseDay(params.get("to")),
  };
}

/** Formats the filter as a query string; omits defaults. */
export function writeFilter(filter: Filter): string {
  const params = new URLSearchParams();
  if (filter.tab !== "receipts") params.set("tab", filter.tab);
  for (const name of ["status", "outcome", "tool", "key", "model", "from", "to"] as const) {
    if (filter[name] !== "") params.set(name, filter[name]);
  }
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

export function isFiltered(filter: Filter): boolean {
  return writeFilter({ ...filter, tab: "receipts" }) !== "";
}

const ANY = { status: "", outcome: "", tool: "", key: "", model: "", from: "", to: "" } as const;

export function clearFilter({ tab }: Filter): Filter {
  return { tab, ...ANY };
}

/** Returns the address of a list with a filter; receipts by default. */
export function activityHref(filter: Partial<Filter>): string {
  return `/activity${writeFilter({ tab: "receipts", ...ANY, ...filter })}`;
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

/** Returns the URL of the CSV export of the tab's list with its filter; its `to` is exclusive. */
export function exportHref({ tab, status, outcome, tool, key, model, from, to }: Filter): string {
  const isRunning = tab === "runs" && status === "running";
  const parameters = {
    status: tab === "receipts" ? status : isRunning ? "active" : "",
    outcome: tab === "runs" && !isRunning ? status : outcome,
    tool,
    key_id: key,
    model,
    from,
    to: to === "" ? "" : isoDay(Date.parse(to) + DAY_MS),
  };
  const params = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== ""));
  const text = params.toString();
  return `/console/export/${tab}.csv${text === "" ? "" : `?${text}`}`;
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
