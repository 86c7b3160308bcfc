import type { StatementExport, StatementRow, Statements } from "../../app/accounts/statements.ts";
import { csvLine, type Cell } from "./csv.ts";
import { dateOf, spanOf, spanWords, type ExportFile } from "./export-file.ts";

const COLUMNS = [
  "time_utc",
  "kind",
  "tool",
  "key",
  "amount_usdc",
  "balance_usdc",
  "receipt_id",
  "run_id",
  "tx_signature",
  "note",
] as const;

/** The account statement: every ledger entry, oldest first, with the balance after it. */
export function statementFile(statements: Statements): ExportFile {
  return {
    path: "/console/export/statement.csv",
    parameters: ["from", "to"],
    async open(accountId, parameters) {
      const span = spanOf(dateOf(parameters, "from"), dateOf(parameters, "to"));
      const parts = linesOf(await statements.export(accountId, span));
      return { name: `toolgate-statement${spanWords(span)}.csv`, parts };
    },
  };
}

async function* linesOf({ opening, rows }: StatementExport): AsyncGenerator<string> {
  let text = csvLine(COLUMNS);
  if (opening) text += lineOf({ time_utc: opening.time, kind: "opening", balance_usdc: opening.balance });
  // Sent with the first rows: until then an error can still get an error response.
  for await (const part of rows) {
    yield text + part.map((row) => lineOf(cellsOf(row))).join("");
    text = "";
  }
  yield text;
}

type Cells = Partial<Record<(typeof COLUMNS)[number], Cell>>;

function lineOf(cells: Cells): string {
  return csvLine(COLUMNS.map((column) => cells[column]));
}

function cellsOf(row: StatementRow): Cells {
  return {
    time_utc: row.time,
    kind: row.kind,
    tool: row.tool,
    key: row.keyName,
    amount_usdc: row.amount,
    balance_usdc: row.balance,
    receipt_id: row.receiptId,
    run_id: row.runId,
    tx_signature: row.txSignature,
    note: row.note,
  };
}
