import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ROOT } from "../tooling/command.ts";
import { describePlot, drawPlot, type PlotGroup } from "./plot.ts";
import { barText, figure, isMet, verdict } from "./report.ts";
import type { Circumstances, Results } from "./results.ts";
import type { Section } from "./sections.ts";
import { barTable, callTable, markdownTable } from "./tables.ts";

/** What docs/explanation/performance.md is made of. */
export interface Page {
  /** The text with the figures in their places. */
  readonly text: string;
  /** Drawings, by their path from docs/. */
  readonly plots: ReadonlyMap<string, string>;
}

const DOCS = path.join(ROOT, "docs/explanation");
/** A place for figures: the benchmark writes what is between the two comments. */
const PLACE = /(<!-- measured: ([^>]+) -->\n).*?(<!-- until here -->)/gs;
/** Functions of a profile that the page shows. */
const FUNCTIONS = 12;
const NOTHING = "Not measured yet.\n";

/**
 * Puts figures into their places: `overview`, the name of a part, `profile` and the name of a part, and `others`, which takes the parts
 * that have no place of their own.
 * @throws Error for a place of something that there is not
 */
export function renderPage(text: string, results: Results, parts: readonly Section[]): Page {
  const measured = parts.filter(({ name }) => results.parts[name]);
  const placed = new Set(Array.from(text.matchAll(PLACE), ([, , name]) => name));
  const sections = new Map(parts.map((part) => [part.name, partSection(part, results)]));
  for (const { name } of parts) sections.set(`profile ${name}`, profileSection(name, results));
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

/** Writes docs/explanation/performance.md and its plots anew. @param docs another folder than the project's */
export async function writePage(results: Results, parts: readonly Section[], docs = DOCS): Promise<void> {
  const file = path.join(docs, "performance.md");
  const { text, plots } = renderPage(await readFile(file, "utf8"), results, parts);
  await mkdir(path.join(docs, "plots"), { recursive: true });
  await writeFile(file, text);
  for (const [name, drawing] of plots) await writeFile(path.join(docs, name), drawing);
}

/** How many bars are met, and which are not. */
function overviewSection(measured: readonly Section[], results: Results): string {
  const groups = measured.map((part) => groupOf(part, results));
  const lines = groups.flatMap((group) => group.lines);
  const missed = lines.filter((line) => !isMet(line));
  const before = measured.filter(({ ownBars }) => !ownBars).flatMap((part) => groupOf(part, results).lines);
  const rows = missed.map((line) => [
    line.measure,
    line.peer,
    figure(line.value),
    barText(line.bar),
    verdict(line),
  ]);
  const missedTable = markdownTable([["missed", "compared with", "ratio", "bar", ""], ...rows]);
  return [
    `${lines.length - missed.length} of ${lines.length} bars are met. Of the ${before.length} in parts whose bars were there before anything was built, ${before.filter(isMet).length} are; the others were set with their parts, to see what gets worse.\n`,
    ...(missed.length > 0 ? [`${missedTable}\n`] : []),
    `![Every figure against its bar](${plotFile("overview")})\n`,
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
    `![${describePlot([groupOf(part, results)])}](${plotFile(part.name)})\n`,
  ].join("\n");
}

/** Where the CPU time of a call goes: by group, and the functions that take the most themselves. */
function profileSection(name: string, results: Results): string {
  const profile = results.profiles[name];
  if (!profile) return NOTHING;
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const groups = profile.groups.map(({ place, share }) => [place, percent(share)]);
  const functions = profile.functions
    .slice(0, FUNCTIONS)
    .map(({ place, share }) => [`\`${place}\``, percent(share)]);
  return [
    `${circumstancesText(profile)}\n`,
    `${markdownTable([["where the gateway's CPU time goes", "share"], ...groups])}\n`,
    `${markdownTable([["functions that take the most themselves", "share"], ...functions])}\n`,
  ].join("\n");
}

function circumstancesText({ date, commit, command, machine, stolen }: Circumstances): string {
  const version = commit === undefined ? "" : ` at ${commit}`;
  return `${date}${version}, \`${command}\`, ${machine}${stolenText(stolen)}:`;
}

/** How much the figures of a virtual machine may owe to its neighbours. */
export function stolenText(stolen: number | undefined): string {
  return stolen === undefined
    ? ""
    : `, ${(stolen * 100).toFixed(0)} % of its processor time taken by other machines`;
}

function groupOf({ name, title }: Section, results: Results): PlotGroup {
  return { title, lines: results.parts[name]?.lines ?? [] };
}

function plotFile(name: string): string {
  return `plots/${name}.svg`;
}
