import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ROOT } from "../tooling/command.ts";
import { drawPlot, type PlotGroup } from "./plot.ts";
import { barText, figure, isMet, verdict } from "./report.ts";
import type { Circumstances, Results } from "./results.ts";
import type { Section } from "./sections.ts";
import { barTable, callTable, markdownTable } from "./tables.ts";

/** Input of docs/explanation/performance.md. */
export interface Page {
  /** The text with the figures in their places. */
  readonly text: string;
  /** Drawings, by their path from docs/. */
  readonly plots: ReadonlyMap<string, string>;
}

const DOCS = path.join(ROOT, "docs/explanation");
/** A placeholder; the benchmark replaces the text between the two comments. */
const PLACE = /(<!-- measured: ([^>]+) -->\n).*?(<!-- until here -->)/gs;
const NOTHING = "Not measured yet.\n";

/**
 * Returns the page with figures in their places: `overview`, `profiles`, the name of a part, and `others`
 * for parts without a place of their own.
 * @throws Error for a place with an unknown name
 */
export function renderPage(text: string, results: Results, parts: readonly Section[]): Page {
  const measured = parts.filter(({ name }) => results.parts[name]);
  const placed = new Set(Array.from(text.matchAll(PLACE), ([, , name]) => name));
  const sections = new Map(parts.map((part) => [part.name, partSection(part, results)]));
  sections.set("profiles", profilesSection(parts, results));
  sections.set("overview", overviewSection(measured, results));
  const others = measured.filter(({ name }) => !placed.has(name));
  sections.set(
    "others",
    others.map((part) => `### ${part.title}\n\n${partSection(part, results)}`).join("\n"),
  );
  const filled = text.replaceAll(PLACE, (_, begin: string, name: string, end: string) => {
    const section = sections.get(name);
    if (section === undefined)
      throw new Error(`docs/explanation/performance.md has a place for ${name}, and there is no such part`);
    return `${begin}\n${section}\n${end}`;
  });
  const plots = new Map(measured.map((part) => [plotFile(part.name), drawPlot([groupOf(part, results)])]));
  plots.set(plotFile("overview"), drawPlot(measured.map((part) => groupOf(part, results))));
  return { text: filled, plots };
}

/** Writes docs/explanation/performance.md and its plots. @param docs for tests: another folder */
export async function writePage(results: Results, parts: readonly Section[], docs = DOCS): Promise<void> {
  const file = path.join(docs, "performance.md");
  const { text, plots } = renderPage(await readFile(file, "utf8"), results, parts);
  await mkdir(path.join(docs, "plots"), { recursive: true });
  await writeFile(file, text);
  for (const [name, drawing] of plots) await writeFile(path.join(docs, name), drawing);
}

/** The machines, the number of bars that are met, and the bars that are missed. */
function overviewSection(measured: readonly Section[], results: Results): string {
  const groups = measured.map((part) => groupOf(part, results));
  const lines = groups.flatMap((group) => group.lines);
  const missed = lines.filter((line) => !isMet(line));
  const rows = missed.map((line) => [
    line.measure,
    line.peer,
    figure(line.value),
    barText(line.bar),
    verdict(line),
  ]);
  const missedTable = markdownTable([["missed", "compared with", "ratio", "bar", ""], ...rows]);
  return [
    "Measured on " +
      `${[...new Set(measured.map(({ name }) => results.parts[name]?.machine))].join(" and on ")}.\n`,
    `${lines.length - missed.length} of ${lines.length} bars are met.\n`,
    ...(missed.length > 0 ? [`${missedTable}\n`] : []),
    `![All ratios against their bars](${plotFile("overview")})\n`,
  ].join("\n");
}

function partSection(part: Section, results: Results): string {
  const measured = results.parts[part.name];
  if (!measured) return NOTHING;
  const calls = callTable(measured.lines);
  return [
    `${circumstancesText(measured)}\n`,
    `${barTable(measured.lines)}\n`,
    ...(calls === undefined ? [] : [`${calls}\n`]),
    `![Ratios against their bars](${plotFile(part.name)})\n`,
  ].join("\n");
}

/** CPU time of a call: groups of code in rows, parts in columns. */
function profilesSection(parts: readonly Section[], results: Results): string {
  const profiles = parts.flatMap(({ name }) => {
    const profile = results.profiles[name];
    return profile ? [{ name, profile }] : [];
  });
  const [first] = profiles;
  if (!first) return NOTHING;
  const groups = [...new Set(profiles.flatMap(({ profile }) => profile.groups.map(({ place }) => place)))];
  const rows = groups.map((group) => [
    group,
    ...profiles.map(({ profile }) => percent(profile.groups.find(({ place }) => place === group)?.share)),
  ]);
  const head = ["share of the gateway's CPU time, %", ...profiles.map(({ name }) => name)];
  return `${circumstancesText(first.profile)}\n\n${markdownTable([head, ...rows])}\n`;
}

function percent(share: number | undefined): string {
  return share === undefined ? "" : (share * 100).toFixed(1);
}

function circumstancesText({ date, commit, command, stolen }: Omit<Circumstances, "machine">): string {
  const version = commit === undefined ? "" : ` at ${commit}`;
  return `${date}${version}, \`${command}\`${stolenText(stolen)}:`;
}

/** The share of processor time that a virtual machine's host gave to others. */
export function stolenText(stolen: number | undefined): string {
  return stolen === undefined ? "" : `, ${(stolen * 100).toFixed(0)} % of the CPU time stolen`;
}

function groupOf({ name, title }: Section, results: Results): PlotGroup {
  return { title, lines: results.parts[name]?.lines ?? [] };
}

function plotFile(name: string): string {
  return `plots/${name}.svg`;
}
