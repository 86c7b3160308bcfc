import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { PARTS } from "./parts/index.ts";
import { tableOf } from "./report.ts";
import { changeResults, DOCS, type Result, type Results } from "./results.ts";

/** The benchmark replaces the text between the two comments. */
const PLACE = /(<!-- table of npm run bench -->\n).*(<!-- end of the table -->)/s;

/** Replaces a result and the table of performance.md. @param docs for tests: another folder */
export async function saveResult(name: string, changed: Result, docs = DOCS): Promise<void> {
  const results = await changeResults(name, changed, docs);
  const page = path.join(docs, "performance.md");
  await writeFile(page, renderPage(await readFile(page, "utf8"), results));
}

export function renderPage(text: string, results: Results): string {
  const groups = PARTS.map((part) => ({ ...part, lines: results[part.name]?.lines }));
  return text.replace(PLACE, (_, begin: string, end: string) => `${begin}\n${tableOf(groups)}\n\n${end}`);
}
