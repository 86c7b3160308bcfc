import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../tooling/command.ts";
import { WAYS } from "./cells.ts";

const FOLDER = path.join(ROOT, "docs/examples");

/** One row of the table: a client, a protocol, and for each payment method its test or why there is none. */
export interface Row {
  readonly client: string;
  readonly protocol: string;
  readonly cells: readonly string[];
}

function readPage(): string {
  return readFileSync(path.join(ROOT, "docs/guides/clients.md"), "utf8");
}

function tableUnder(page: string, header: readonly string[]): string[][] {
  const [, rows = ""] = page.split(`| ${header.join(" | ")} |\n`);
  const [, ...lines] = rows.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("|"));
  return lines.slice(0, end).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

export function tableOfClients(): Row[] {
  return tableUnder(readPage(), ["client", "protocol", ...WAYS]).map(
    ([client = "", protocol = "", ...cells]) => ({ client, protocol, cells }),
  );
}

export function linkedFiles(): string[] {
  const links = readPage().matchAll(/\]\(\.\.\/examples\/([\w./-]+)\)/g);
  return [...new Set(Array.from(links, ([, file = ""]) => file))];
}

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
