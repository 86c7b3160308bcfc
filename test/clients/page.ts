import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../tooling/command.ts";
import { DOORS, WAYS } from "./cells.ts";

/** Where the examples are. */
const FOLDER = path.join(ROOT, "docs/examples");

/** One row of the table: a client at a door, and for each way of paying the test that proves it, or why there is none. */
export interface Row {
  readonly client: string;
  readonly door: string;
  readonly cells: readonly string[];
}

function readPage(): string {
  return readFileSync(path.join(ROOT, "docs/guides/clients.md"), "utf8");
}

/** The rows of the table whose head is given. */
function tableUnder(page: string, head: readonly string[]): string[][] {
  const [, rows = ""] = page.split(`| ${head.join(" | ")} |\n`);
  const [, ...lines] = rows.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("|"));
  return lines.slice(0, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The table of who pays how, where. */
export function tableOfClients(): Row[] {
  return tableUnder(readPage(), ["client", "door", ...WAYS]).map(([client = "", door = "", ...cells]) => ({
    client,
    door,
    cells,
  }));
}

/** The doors that a client does not go through, and why. */
export function doorsNotTaken(): { client: string; doors: string[]; why: string }[] {
  return tableUnder(readPage(), ["client", "not", "why"]).map(([client = "", doors = "", why = ""]) => ({
    client,
    doors: doors.split(", "),
    why,
  }));
}

/** Every pair of a client of the table and a door. */
export function everyPair(): string[] {
  const clients = new Set(tableOfClients().map(({ client }) => client));
  return [...clients].flatMap((client) => DOORS.map((door) => `${client} at ${door}`));
}

/** The files that the page quotes, as it quotes them: a link to the file, and the block that follows. */
export function quotedFiles(): Map<string, string> {
  const quoted = new Map<string, string>();
  for (const [, file = "", text = ""] of readPage().matchAll(
    /\]\(\.\.\/examples\/([\w./-]+)\)[^\n]*\n\n```\w+\n([\s\S]*?)^```$/gm,
  ))
    quoted.set(file, text);
  return quoted;
}

/** Every file of docs/examples with its text. */
export function exampleFiles(): Map<string, string> {
  const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(FOLDER, file), readFileSync(file, "utf8")];
    }),
  );
}
