import type { Mutant } from "./mutant.ts";
import type { MutantGroup } from "./mutants.ts";
import type { Verdict } from "./verdict.ts";

/** A mutant and its outcome. */
export interface Tried {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  readonly seconds: number;
}

/** Returns a line of text for one mutant. */
export function lineOf({ mutant: { name }, verdict, seconds }: Tried): string {
  const kind = (verdict.kind === "caught" ? "caught" : verdict.kind.toUpperCase()).padEnd(8);
  return `${kind} ${name.padEnd(32)} ${seconds.toFixed(1).padStart(5)} s  ${witness(verdict)}`;
}

/** Returns Markdown: a heading and a table for each group that was tried, one row for each guard. */
export function markdownOf(tried: readonly Tried[], groups: readonly MutantGroup[]): string {
  const sections = groups.flatMap(({ title, mutants }) => {
    const rows = tried.filter(({ mutant }) => mutants.includes(mutant)).map(rowOf);
    return rows.length === 0 ? [] : [`## ${title}\n\n| guard | ensures |\n|---|---|\n${rows.join("")}`];
  });
  return sections.join("\n");
}

function rowOf({ mutant: { name, guard }, verdict }: Tried): string {
  const outcome = verdict.kind === "caught" ? "" : ` **${verdict.kind}**`;
  return `| \`${name}\` | ${guard.replaceAll("|", "\\|")}${outcome} |\n`;
}

/** Returns `N caught, M survived`, and the number of invalid ones if any. */
export function summaryOf(tried: readonly Tried[]): string {
  const count = (kind: Verdict["kind"]) => tried.filter(({ verdict }) => verdict.kind === kind).length;
  const invalid = count("invalid");
  return (
    `${count("caught")} caught, ${count("survived")} ` +
    `survived${invalid === 0 ? "" : `, ${invalid} invalid`}`
  );
}

function witness(verdict: Verdict): string {
  if (verdict.kind === "survived") return "no test noticed";
  if (verdict.kind === "invalid") return verdict.why;
  const [first = "", ...others] = verdict.by;
  return others.length === 0 ? first : `${first} (and ${others.length} more)`;
}
