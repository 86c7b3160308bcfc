import { readFile } from "node:fs/promises";
import path from "node:path";

import { ROOT, type Finished } from "./command.ts";
import { textFiles } from "./text-files.ts";

/** Most words of all pages below docs/ together, counted as `wc -w` counts them. */
const MAX_WORDS = 55_000;

/** Reads the pages below docs/. */
export async function docsAreShort(): Promise<Finished> {
  const files = (await textFiles("docs")).filter((file) => file.endsWith(".md"));
  const counts = await Promise.all(
    files.map(async (file) => [file, wordsOf(await readFile(path.join(ROOT, file), "utf8"))] as const),
  );
  const output = tooLong(counts, MAX_WORDS);
  return { code: output === "" ? 0 : 1, output };
}

function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

/** The total and the five longest pages if they have more than `most` words; otherwise empty. */
export function tooLong(counts: readonly (readonly [file: string, words: number])[], most: number): string {
  const total = counts.reduce((sum, [, words]) => sum + words, 0);
  if (total <= most) return "";
  const longest = counts.toSorted(([, one], [, other]) => other - one).slice(0, 5);
  return [
    `docs/ has ${total} words; at most ${most} are allowed. Shorten it. The longest pages:`,
    ...longest.map(([file, words]) => `  ${words} ${file}`),
    "",
  ].join("\n");
}
