import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Case } from "./case.ts";
import { JAVASCRIPT } from "./javascript-cases.ts";
import { PYTHON } from "./python-cases.ts";

/** All cases. Each snippet is a file in javascript/ or python/. */
export const CASES: readonly Case[] = [
  ...JAVASCRIPT.map((row): Case => ({ ...row, language: "javascript" })),
  ...PYTHON.map((row): Case => ({ ...row, language: "python" })),
];

/** Pairs: the second must not find what the first plants. */
export const PAIRS = ["javascript", "python"].map((language) => ({
  plants: {
    name: "storage-plants",
    language,
    attacks: "the next run, by planting",
    ends: ["succeeded"],
  } as Case,
  looks: {
    name: "storage-looks",
    language,
    attacks: "the run before, by looking",
    ends: ["succeeded"],
    tries: language === "python" ? 6 : 7,
  } as Case,
}));

const ENDINGS = { javascript: "js", python: "py" } as const;

/** The code of a case with its prelude. `{{name}}` is replaced by a value of the host. */
export async function codeOf(one: Case, host: Readonly<Record<string, string>>): Promise<string> {
  const [prelude, snippet] = await Promise.all([preludeOf(one.language), snippetOf(one, host)]);
  return `${prelude}\n${snippet}`;
}

/** Code before every snippet of a language. */
export async function preludeOf(language: Case["language"]): Promise<string> {
  return readFile(path.join(import.meta.dirname, `prelude.${ENDINGS[language]}`), "utf8");
}

export async function snippetOf(
  { name, language }: Case,
  host: Readonly<Record<string, string>>,
): Promise<string> {
  const file = path.join(import.meta.dirname, language, `${name}.${ENDINGS[language]}`);
  return filled(await readFile(file, "utf8"), host);
}

export function filled(text: string, host: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => host[name] ?? `{{${name}}}`);
}
