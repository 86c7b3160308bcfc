import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { renderPage, writePage } from "./page.ts";
import { describePlot, drawPlot } from "./plot.ts";
import { throughputLine, verdict, type Line } from "./report.ts";
import { changeResults, checkedLines, readResults, type Results } from "./results.ts";
import { SECTIONS } from "./sections.ts";

const DOCS = path.join(ROOT, "docs/explanation");

const line = (value: number, bar: Line["bar"]): Line => ({
  ...{ measure: "echo <CPU>", gateway: "38 us", peer: "bare 19 us" },
  ...{ value, bar },
});
const part = (lines: Line[], date = "2026-11-22") => ({
  date,
  machine: "a machine",
  command: "npm run bench",
  stolen: 0.421,
  lines,
});
const NOTHING: Results = { parts: {}, profiles: {} };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-page-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("docs/explanation/performance.md", () => {
  it("shows exactly the figures of performance.json", async () => {
    const text = await readFile(path.join(DOCS, "performance.md"), "utf8");
    const { text: rendered, plots } = renderPage(text, await readResults(), SECTIONS);
    expect(text).toBe(rendered);
    const drawn = await readdir(path.join(DOCS, "plots"));
    expect(drawn.map((name) => `plots/${name}`).sort()).toEqual([...plots.keys()].sort());
    for (const [name, drawing] of plots)
      expect(await readFile(path.join(DOCS, name), "utf8"), name).toBe(drawing);
  });

  it("is generated from new figures only, and unchanged when generated again", async () => {
    await mkdir(path.join(folder, "docs"));
    const docs = path.join(folder, "docs");
    await copyFile(path.join(DOCS, "performance.md"), path.join(docs, "performance.md"));
    const results = {
      ...NOTHING,
      parts: { audit: part([{ ...line(0.251, { atMost: 1 }), range: { least: 0.2, most: 0.3 } }]) },
    };
    await writePage(results, SECTIONS, docs);
    const written = await readFile(path.join(docs, "performance.md"), "utf8");
    expect(written).toContain("| echo <CPU> | 38 us   | bare 19 us    | 0.25  | 0.20 – 0.30  | <= 1 | met |");
    expect(written).toContain("Measured on a machine.\n\n1 of 1 bars are met.");
    expect(await readdir(path.join(docs, "plots"))).toEqual(["audit.svg", "overview.svg"]);
    await writePage(results, SECTIONS, docs);
    expect(await readFile(path.join(docs, "performance.md"), "utf8")).toBe(written);
  });

  it("shows an unlisted part among the others, and throws for an unknown part", () => {
    const place = (name: string) => `before\n<!-- measured: ${name} -->\nold\n<!-- until here -->\nafter\n`;
    const results = { ...NOTHING, parts: { audit: part([line(2, { atMost: 1 })]) } };
    const { text } = renderPage(place("others"), results, SECTIONS);
    expect(text).toMatch(
      /^before\n<!-- measured: others -->\n\n### The audit\n\n2026-11-22, `npm run bench`, 42 % of the CPU time stolen:/,
    );
    expect(text).toContain("missed by 100 %");
    expect(text).not.toContain("old");
    expect(() => renderPage(place("nothing"), results, SECTIONS)).toThrow("has a place for nothing");
  });
});

describe("a benchmark result", () => {
  it("replaces only the earlier figures of the same part", async () => {
    const file = path.join(folder, "performance.json");
    await writeFile(file, JSON.stringify(NOTHING));
    await changeResults(
      {
        parts: { echo: part([line(2, { atMost: 1 })]), audit: part([line(1, { atMost: 1 })], "2026-11-01") },
      },
      file,
    );
    await changeResults({ parts: { echo: part([line(1.23456, { atMost: 1 })]) } }, file);
    const { parts } = await readResults(file);
    expect(parts["echo"]?.lines[0]?.value).toBe(1.235);
    expect(parts["audit"]?.date).toBe("2026-11-01");
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("is rejected if a figure is %s", (value) => {
    expect(() => checkedLines([line(value, { atMost: 1 })])).toThrow();
  });

  it.each([
    [line(1.7, { atMost: 1.7 }), "met"],
    [line(1.71, { atMost: 1.7 }), "missed by 0.6 %"],
    [line(0.3, { atLeast: 0.6 }), "missed by 50 %"],
    [line(2, { atMost: 0 }), "missed by 2.00"],
    [line(0, { atMost: 0 }), "met"],
  ])("is compared with its bar: %#", (figure, expected) => expect(verdict(figure)).toBe(expected));

  it("includes the rates of both sides", () => {
    const gateway = { perSecond: 10, cpuMicros: 50, p50Ms: 1, p99Ms: 2 };
    const throughputRatio = { median: 0.5, range: { least: 0.4, most: 0.7 } };
    const comparison = {
      gateway,
      peer: { perSecond: 20 },
      throughputRatio,
      cpuRatio: undefined,
      gatewayCpu: undefined,
      p99Ratio: undefined,
    };
    const { calls, value, range } = throughputLine("echo", comparison, "bare", 0.6);
    expect([value, range]).toEqual([0.5, throughputRatio.range]);
    expect(calls).toEqual({ what: "echo", peer: "bare", gatewayRate: gateway, peerRate: { perSecond: 20 } });
  });

  it("is drawn in its length and colour with the words met or missed", () => {
    const groups = [{ title: "Echo", lines: [line(0.5, { atLeast: 1 }), line(0.25, { atMost: 1 })] }];
    const drawing = drawPlot(groups);
    expect(drawing).toContain('<path class="missed" d="M400,64 h65.0 v14 H400 z"/>');
    expect(drawing).toContain('<path class="met" d="M400,86 h260.0 l8,7 l-8,7 H400 z"/>');
    expect(drawing).toContain("echo &lt;CPU&gt;");
    expect(describePlot(groups)).toBe(
      "echo <CPU> 0.50 (bar >= 1, missed by 50 %); echo <CPU> 0.25 (bar <= 1, met)",
    );
  });
});
