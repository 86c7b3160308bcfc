import process from "node:process";

/** Writes JSON lines with --json, text otherwise. */
export interface Output {
  /** Writes one object: a JSON line, or one member per line. */
  record(record: Record<string, unknown>): void;
  /** Writes a list: one JSON line per row, or a table. */
  table(rows: readonly Record<string, unknown>[]): void;
}

export function outputFor(json: boolean): Output {
  return json ? jsonOutput : textOutput;
}

const jsonOutput: Output = {
  record: (record) => write(JSON.stringify(record, asJson)),
  table: (rows) => {
    for (const row of rows) write(JSON.stringify(row, asJson));
  },
};

const textOutput: Output = {
  record: (record) => {
    const width = Math.max(...Object.keys(record).map((name) => name.length));
    for (const [name, value] of Object.entries(record)) write(`${name.padEnd(width)}  ${asText(value)}`);
  },
  table: (rows) => {
    const columns = Object.keys(rows[0] ?? {});
    const cells = [columns, ...rows.map((row) => columns.map((column) => asText(row[column])))];
    const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
    for (const line of cells)
      write(
        line
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join("  ")
          .trimEnd(),
      );
  },
};

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function asJson(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function asText(value: unknown): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return "-";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asText).join(",");
  if (typeof value === "string") return value;
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value, asJson);
}
