import { readFile } from "node:fs/promises";
import path from "node:path";

import { ROOT, type Finished } from "./command.ts";
import { textFiles } from "./text-files.ts";

/** Longest line of prose and code, in characters; the formatter's `printWidth`. */
const WIDTH = 110;

const CHECKED = /\.(?:ts|tsx|mjs|js|proto|md|html|css|sql|sh|py|yaml|yml|toml)$/;

/** Data of others, test programs, and generated pages. */
const AS_IT_IS = [
  /^docs\/(?:reference\/api\/|explanation\/performance\.md$)/,
  /^(?:src|test)\/sandbox\/.*(?:corpus|guest|probes|code|host-libraries)/,
  /^test\/conformance\/.*\.yml$/,
];

/** Parts that no line break can shorten: long words, regular expressions, imports, test titles. */
const UNBREAKABLE = [
  /\S{60}/,
  /(?:[(,=:|&!?[]|^|=>) *\/(?![/*]).{40,}\/[dgimsuvy]*[,;)\]]/,
  /^(?:import|export) .* from /,
  /^\s*(?:it|test|describe)(?:\.\w+)*\(["`]/,
];

function unbreakable(line: string): boolean {
  return UNBREAKABLE.some((part) => part.test(line));
}

/** Every line that is too long and could be broken, one line each: `file:line: …`. */
export function wideLines(file: string, text: string): string[] {
  if (!CHECKED.test(file) || AS_IT_IS.some((data) => data.test(file))) return [];
  const markdown = file.endsWith(".md");
  let fenced = false;
  return text.split("\n").flatMap((line, index) => {
    if (markdown && /^\s*```/.test(line)) fenced = !fenced;
    const width = Array.from(line).length;
    if (width <= WIDTH || (markdown && (fenced || /^\s*\|/.test(line))) || unbreakable(line)) return [];
    return [`${file}:${index + 1}: ${width} characters; break the line at ${WIDTH}`];
  });
}

/** Reads the project's own text files. */
export async function linesFit(): Promise<Finished> {
  const found = await Promise.all(
    (await textFiles()).map(async (file) => wideLines(file, await readFile(path.join(ROOT, file), "utf8"))),
  );
  const lines = found.flat();
  return { code: lines.length === 0 ? 0 : 1, output: lines.map((line) => `${line}\n`).join("") };
}
