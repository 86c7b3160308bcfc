import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { BUILT } from "../../src/dev/console-build/places.ts";

/** Size limit of a page's scripts, gzip, bytes. */
const MOST = 181_000;

interface Script {
  size: number;
  text: string;
  needs: string[];
  later: string[];
}

const scripts = new Map<string, Script>();
let entry: string;

beforeAll(async () => {
  const html = await readFile(path.join(BUILT, "index.html"), "utf8");
  entry = /type="module"[^>]* src="\/console\/assets\/([^"]+\.js)"/.exec(html)?.[1] ?? "";
  for (const name of await readdir(path.join(BUILT, "assets"))) {
    if (!name.endsWith(".js")) continue;
    const text = await readFile(path.join(BUILT, "assets", name), "utf8");
    const named = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found);
    scripts.set(name, {
      size: gzipSync(text, { level: 9 }).length,
      text,
      needs: named(/(?:from|import)\s*["'`]\.\/([\w.-]+\.js)["'`]/g),
      later: named(/import\(\s*["'`]\.\/([\w.-]+\.js)["'`]/g),
    });
  }
});

/** Returns the scripts with all their static imports. */
function withNeeds(names: Iterable<string>): Set<string> {
  const all = new Set(names);
  for (const name of all) for (const need of scripts.get(name)?.needs ?? []) all.add(need);
  return all;
}

/** Returns what every visit loads: the entry and what it imports, at once or after the first paint. */
const first = () => withNeeds([entry, ...(scripts.get(entry)?.later ?? [])]);

const weight = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + (scripts.get(name)?.size ?? 0), 0);

describe("console bundle", () => {
  it("can be read by every user: a service has one of its own", async () => {
    expect((await stat(BUILT)).mode & 0o777).toBe(0o755);
  });

  it("keeps every page below the size limit, lazy chunks included", () => {
    const pages = [...first()].flatMap((name) => scripts.get(name)?.later ?? []);
    expect(pages.length).toBeGreaterThan(3);
    for (const page of pages) {
      const shown = withNeeds([...first(), page]);
      // What is first imports pages; other dynamic imports belong to the page itself.
      const later = [...shown]
        .filter((name) => !first().has(name))
        .flatMap((name) => scripts.get(name)?.later ?? []);
      const all = withNeeds([...shown, ...later]);
      for (const name of all) expect([...scripts.keys()], page).toContain(name);
      expect(weight(all), page).toBeLessThan(MOST);
    }
  });

  it("loads the chart and the development wallet lazily", () => {
    expect([...first()].filter((name) => /^(?:chart|dev-wallet|keys|settings)-/.test(name))).toEqual([]);
  });

  it("contains no eval, raw HTML or wallet key", () => {
    for (const [name, { text }] of scripts) {
      expect(text, name).not.toMatch(/\beval\(|new Function\(|dangerouslySetInnerHTML:\{__html/);
      expect(text, name).not.toMatch(/secret_key"?:\[/);
    }
  });
});
