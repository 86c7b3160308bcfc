import type { CallInfo, History, HistoryFilter, PageQuery, Receipts, Runs } from "../../app/calls/history.ts";
import type { Page } from "../../domain/core/page.ts";
import { invalidField } from "../../domain/core/errors.ts";
import {
  RECEIPT_MEMBERS,
  type Receipt,
  type ReceiptStatus,
  type CallOutcome,
  type Run,
  type RunStatus,
} from "../../domain/calls/receipt.ts";
import { keyIdIn, modelIn, toolIn } from "../services/request-fields.ts";
import { csvLine, type Cell } from "./csv.ts";
import { dateOf, spanOf, spanWords, type ExportFile, type ExportParameters } from "./export-file.ts";

const BATCH = 500;

/** Columns of a CSV file: name to cell. */
type Columns<Item> = Readonly<Record<string, (item: Item, call: CallInfo | undefined) => Cell>>;

const CALL_COLUMNS: Columns<unknown> = {
  key_id: (_item, call) => call?.key?.keyId,
  key: (_item, call) => call?.key?.name,
  outcome: (_item, call) => call?.outcome,
};

const RECEIPT_COLUMNS: Columns<Receipt> = {
  ...Object.fromEntries(
    Object.entries(RECEIPT_MEMBERS).flatMap(([member, column]) =>
      column === undefined ? [] : [[column, (receipt: Receipt) => cellOf(receipt, member)]],
    ),
  ),
  ...CALL_COLUMNS,
};

const RUN_COLUMNS: Columns<Run> = {
  time_utc: ({ createdAt }) => createdAt.toISOString(),
  run_id: ({ runId }) => runId,
  tool: ({ tool }) => tool,
  status: ({ status }) => status,
  spent_usdc: ({ spent }) => spent,
  receipt_id: ({ receiptId }) => receiptId,
  started_utc: ({ startedAt }) => startedAt?.toISOString(),
  ended_utc: ({ endedAt }) => endedAt?.toISOString(),
  error_code: ({ error }) => error?.code,
  error_message: ({ error }) => error?.message,
  ...CALL_COLUMNS,
};

const RECEIPT_STATUSES: readonly ReceiptStatus[] = ["final", "refunded", "reversed"];
const RUN_STATUSES: readonly RunStatus[] = ["active", "completed", "failed", "cancelled"];
const OUTCOMES: readonly CallOutcome[] = ["succeeded", "failed", "timeout", "limit", "cancelled"];

/** The account's receipts, newest first, with the list's filters. */
export function receiptsFile(receipts: Receipts, history: Calls): ExportFile {
  return listFile("receipts", RECEIPT_COLUMNS, RECEIPT_STATUSES, (query) => receipts.list(query), history);
}

/** The account's runs, newest first, with the list's filters. */
export function runsFile(runs: Runs, history: Calls): ExportFile {
  return listFile("runs", RUN_COLUMNS, RUN_STATUSES, (query) => runs.list(query), history);
}

function cellOf(receipt: Receipt, member: string): Cell {
  const { [member]: value }: Readonly<Record<string, unknown>> = { ...receipt };
  if (value instanceof Date) return value.toISOString();
  return typeof value === "bigint" || typeof value === "string" ? value : undefined;
}

type Calls = Pick<History, "callsOf">;
type List<Item, Status> = (query: PageQuery<Status>) => Promise<Page<Item>>;

function listFile<Item extends { runId: string }, Status extends string>(
  name: string,
  columns: Columns<Item>,
  statuses: readonly Status[],
  list: List<Item, Status>,
  history: Calls,
): ExportFile {
  return {
    path: `/console/export/${name}.csv`,
    parameters: ["status", "outcome", "tool", "key_id", "model", "from", "to"],
    async open(accountId, parameters) {
      const status = statusOf("status", parameters, statuses);
      const filter = filterOf(parameters);
      const first = { accountId, limit: BATCH, cursor: undefined, status, filter };
      const parts = linesOf(first, columns, list, history);
      return { name: `toolgate-${name}${spanWords({ from: filter.from, to: filter.to })}.csv`, parts };
    },
  };
}

async function* linesOf<Item extends { runId: string }, Status>(
  first: PageQuery<Status>,
  columns: Columns<Item>,
  list: List<Item, Status>,
  history: Calls,
): AsyncGenerator<string> {
  let head = csvLine(Object.keys(columns));
  for (let query: PageQuery<Status> | undefined = first; query;) {
    const page: Page<Item> = await list(query);
    const calls = await history.callsOf(
      query.accountId,
      page.items.map(({ runId }) => runId),
    );
    const lineOf = (item: Item) =>
      csvLine(Object.values(columns).map((cellOf) => cellOf(item, calls.get(item.runId))));
    yield head + page.items.map(lineOf).join("");
    head = "";
    query = page.nextCursor === undefined ? undefined : { ...query, cursor: page.nextCursor };
  }
}

function statusOf<Status extends string>(
  name: string,
  parameters: ExportParameters,
  statuses: readonly Status[],
): Status | undefined {
  const text = parameters.get(name);
  const status = statuses.find((known) => known === text);
  if (text !== undefined && !status) throw invalidField(name, `must be one of ${statuses.join(", ")}`);
  return status;
}

function filterOf(parameters: ExportParameters): HistoryFilter {
  const keyId = keyIdIn("key_id", parameters.get("key_id"));
  const model = modelIn("model", parameters.get("model") ?? undefined);
  const tool = toolIn("tool", parameters.get("tool"));
  const outcome = statusOf("outcome", parameters, OUTCOMES);
  return { tool, keyId, model, outcome, ...spanOf(dateOf(parameters, "from"), dateOf(parameters, "to")) };
}
