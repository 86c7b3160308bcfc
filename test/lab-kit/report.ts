import type { Violation } from "./tally.ts";

/** Violations that the text shows. */
const SHOWN = 10;

/** The report as text: a figure a line, then the broken promises with their evidence. */
export function reportText(
  figures: Readonly<Record<string, unknown>>,
  violations: readonly Violation[],
): string {
  const rows = Object.entries({ ...figures, broken_promises: violations.length }).flatMap(([name, value]) =>
    linesOf(value).map((line, index) => [index === 0 ? name.replaceAll("_", " ") : "", line] as const),
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, line]) => `${name.padEnd(width)}  ${line}`);
  for (const { promise, profile, details, rows: found } of violations.slice(0, SHOWN))
    lines.push("", `BROKEN, with ${profile}: ${promise}`, json({ details, found }));
  if (violations.length > SHOWN) lines.push("", `and ${violations.length - SHOWN} more`);
  return lines.join("\n");
}

/** JSON with bigints as numbers. */
export function json(value: unknown): string {
  return JSON.stringify(
    value,
    (_, member: unknown) => (typeof member === "bigint" ? Number(member) : member),
    2,
  );
}

/** A line for each member of a list; of counts those that are not zero. */
function linesOf(value: unknown): string[] {
  if (Array.isArray(value) && value.some((one) => typeof one === "object")) return value.map(textOf);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [textOf(value)];
  return [textOf(Object.fromEntries(Object.entries(value).filter(([, member]) => member !== 0)))];
}

export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  if (typeof value !== "object" || value === null) return String(value);
  const members = Object.entries(value).map(([name, member]) => `${name} ${textOf(member)}`);
  return members.join(", ");
}
