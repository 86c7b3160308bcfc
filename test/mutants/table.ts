import type { Mutant } from "./mutant.ts";
import type { Verdict } from "./verdict.ts";

/** A mutant and what came of it. */
export interface Tried {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  readonly seconds: number;
}

/** The line of one mutant, for people. */
export function lineOf({ mutant: { name }, verdict, seconds }: Tried): string {
  const kind = (verdict.kind === "caught" ? "caught" : verdict.kind.toUpperCase()).padEnd(8);
  return `${kind} ${name.padEnd(32)} ${seconds.toFixed(1).padStart(5)} s  ${witness(verdict)}`;
}

/** The result as a Markdown table: one row for each guard. */
export function markdownOf(tried: readonly Tried[]): string {
  const rows = tried.map(({ mutant: { name, guard, file }, verdict }) =>
    row([`\`${name}\``, guard, `\`${file}\``, verdict.kind === "caught" ? witness(verdict) : verdict.kind]),
  );
  return [
    row(["guard", "what it sees to", "where it stands", "which test goes red without it"]),
    row(Array(4).fill("---")),
    ...rows,
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** The names in the first column of such a table. */
export function namesIn(markdown: string): string[] {
  return Array.from(markdown.matchAll(/^\| `([\w-]+)` \|/gm), ([, name = ""]) => name);
}

/** `N caught, M survived`, and how many proved nothing if any. */
export function summaryOf(tried: readonly Tried[]): string {
  const count = (kind: Verdict["kind"]) => tried.filter(({ verdict }) => verdict.kind === kind).length;
  const invalid = count("invalid");
  return `${count("caught")} caught, ${count("survived")} survived${invalid === 0 ? "" : `, ${invalid} invalid`}`;
}

function witness(verdict: Verdict): string {
  if (verdict.kind === "survived") return "no test noticed";
  if (verdict.kind === "invalid") return verdict.why;
  const [first = "", ...others] = verdict.by;
  return others.length === 0 ? first : `${first} (and ${others.length} more)`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
