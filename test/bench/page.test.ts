import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { compare, QUICK } from "./measure.ts";
import { line, tableOf } from "./report.ts";
import { renderPage, saveResult } from "./page.ts";
import { readResults } from "./results.ts";

const DOCS = path.join(ROOT, "docs/explanation");
const RESULT = { date: "2026-11-22", machine: "a machine" };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-page-"));
  for (const name of ["performance.md", "performance.json"])
    await copyFile(path.join(DOCS, name), path.join(folder, name));
});
afterAll(() => rm(folder, { recursive: true }));

const page = () => readFile(path.join(folder, "performance.md"), "utf8");

describe("docs/explanation/performance.md", () => {
  it("shows exactly the figures of performance.json", async () => {
    const text = await readFile(path.join(DOCS, "performance.md"), "utf8");
    expect(renderPage(text, await readResults())).toBe(text);
    expect(text.match(/^\| \d+\. .*\| [A-Z][^|]+ \|$/gm)).toHaveLength(15);
  });

  it("replaces the figures of one part only", async () => {
    const before = await readResults(folder);
    const lines = [{ measure: "CPU", gateway: "38 us", peer: "bare 19 us", ratio: 2.000_049 }];
    await saveResult("http", { ...RESULT, lines }, folder);
    const { http, ...others } = await readResults(folder);
    expect(http).toEqual({ ...RESULT, lines: [{ ...lines[0], ratio: 2 }] });
    expect({ ...others, http: before["http"] }).toEqual(before);
    expect(await page()).toMatch(/\| 1\. free call, HTTP: CPU +\| 38 us +\| bare 19 us +\| 2\.00 +\| /);
  });

  it("refuses a ratio that is not finite and keeps the page", async () => {
    const before = await page();
    const lines = [{ measure: "CPU", gateway: "", peer: "", ratio: Number.NaN }];
    await expect(saveResult("http", { ...RESULT, lines }, folder)).rejects.toThrow();
    expect(await page()).toBe(before);
  });
});

describe("a comparison", () => {
  it("lets both sides start in turn and takes the median of the rounds' ratios", async () => {
    const order: string[] = [];
    const side = (name: string, rates: number[]) => async () => {
      order.push(name);
      return { perSecond: rates.shift() ?? Number.NaN };
    };
    const [ours, theirs] = [side("gateway", [10, 40, 90]), side("peer", [10, 20, 30])];
    const rounds = await compare(ours, theirs, { ...QUICK, rounds: 3 });
    expect(order).toEqual(["gateway", "peer", "peer", "gateway", "gateway", "peer"]);
    expect(line("throughput", rounds, "bare", ["perSecond", "cpuMicros"])).toEqual({
      ...{ measure: "throughput", gateway: "40/s", peer: "bare 20/s" },
      ...{ ratio: 2, range: { least: 1, most: 3 } },
    });
  });

  it("has a row without figures before it is measured", () => {
    expect(tableOf([{ title: "restart", why: "operators", lines: undefined }])).toContain(
      "| restart    | not yet measured with this program |               |       | operators |",
    );
  });
});
