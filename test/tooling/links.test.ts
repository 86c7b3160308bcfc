import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");

const SKIPPED = /^(?:node_modules|dist|gen|\.git|\.toolgate)$/;

/** Every Markdown file of the project, relative to its root. */
function pages(folder = ""): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : pages(name);
    return entry.isFile() && name.endsWith(".md") ? [name] : [];
  });
}

function read(page: string): string {
  return readFileSync(path.join(ROOT, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
}

/** The anchors of a page's headings, as Git hosts make them. */
function anchors(page: string): string[] {
  return Array.from(read(page).matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

/** How pages of packages name the files of their version. */
const PUBLISHED = "<repository>/";

it("every relative link of a Markdown page leads to a file and a heading", () => {
  const broken: string[] = [];
  for (const page of pages()) {
    for (const [, link = ""] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file = "", anchor] = link.split("#");
      const from = file.startsWith(PUBLISHED) ? "." : path.posix.dirname(page);
      const target = file === "" ? page : path.posix.join(from, file.replace(PUBLISHED, ""));
      const found = existsSync(path.join(ROOT, target));
      const named = anchor === undefined || !target.endsWith(".md") || anchors(target).includes(anchor);
      if (!found || !named) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

it("CONTRIBUTING.md names only paths that exist", () => {
  // Recipes also name files that they create; test/recipes performs them.
  const [text = ""] = read("CONTRIBUTING.md").split("\n## Recipes\n");
  const named = text.matchAll(/`((?:src|test|docs|proto|gen)\/[\w./-]*)`/g);
  const paths = Array.from(named, ([, name = ""]) => name).filter((name) => !name.endsWith("/NAME"));
  expect(paths.filter((name) => !existsSync(path.join(ROOT, name)))).toEqual([]);
});

it("pages of docs name only tests that exist", () => {
  const tests = pages("docs").flatMap((page) =>
    Array.from(read(page).matchAll(/`(test\/[\w./-]+)`/g), ([, name = ""]) => name),
  );
  const exists = (name: string) =>
    ["", ".ts", ".test.ts"].some((end) => existsSync(path.join(ROOT, name + end)));
  expect(tests.length).toBeGreaterThan(50);
  expect(tests.filter((name) => !exists(name))).toEqual([]);
});

it("test/README.md names every folder of test", () => {
  const folders = readdirSync(path.join(ROOT, "test"), { withFileTypes: true });
  const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const page = read("test/README.md");
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  const mirrors = /^`app`[\s\S]*?:/m.exec(page)?.[0] ?? "";
  const rows = page.matchAll(/^\| (`.*?) \|/gm);
  const listed = [mirrors, ...Array.from(rows, ([, cell = ""]) => cell)].join(" ");
  const unknown = Array.from(listed.matchAll(/`([\w/-]+)`/g), ([, name = ""]) => name);
  expect(unknown.filter((name) => !existsSync(path.join(ROOT, "test", name)))).toEqual([]);
});

it("docs/README.md links to every page of its folders", () => {
  const index = read("docs/README.md");
  const written = pages("docs").filter(
    (page) => !/^docs\/(?:README|runbooks\/Toolgate|reference\/api\/|adr\/)/.test(page),
  );
  expect(written.filter((page) => !index.includes(`](${page.replace("docs/", "")})`))).toEqual([]);
});
