import { readFile } from "node:fs/promises";
import path from "node:path";

import { ROOT, type Finished } from "./command.ts";
import { textFiles } from "./text-files.ts";

/** Words that must not be committed, the files that this holds for, and what to write instead. */
interface Ban {
  readonly pattern: RegExp;
  readonly where: RegExp;
  readonly why: string;
}

const BANS: readonly Ban[] = [
  {
    pattern: /(?<![\w.}-])\/(?:home|Users|root|work|farm|workspace)\/[\w.-]+/,
    where: /./,
    why: "a path of one machine; write it relative to the checkout",
  },
  {
    pattern: /\b(?:coordinator|sub-?agent)\b|\bresearch\/[\w-]+\.md\b/i,
    where: /./,
    why: "describes how the text was made; write about the project only",
  },
  {
    pattern: /(?<![\w.])sleep\(|setTimeout\(resolve|\bvi\.waitFor\b/,
    where: /^test\/(?!tooling\/words).*\.test\.ts$/,
    why: "a busy machine needs longer; wait for a fact with expect.poll, or until() in a hook",
  },
  {
    pattern: /\b(?:performance|Date)\.now\(\) - \w+\)\.toBeLessThan\(\d/,
    where: /^test\/.*\.test\.ts$/,
    why: "an absolute time; compare with what took place in the same run, or with a limit of the product",
  },
  {
    pattern: /\.list\w*\([^;]*\)\)(?:\[\d|\.at\()/,
    where: /^test\/.*\.test\.ts$/,
    why: "the order may be of random ids; expect the whole list, or find the item by its id",
  },
  { pattern: /\b(?:describe|it|test|suite)\.only\(/, where: /^test\//, why: "skips every other test" },
  {
    pattern: /\b(?:TO\s?DO|FIX\s?ME|XXX)\b(?!-)/,
    where: /^(?:src|test|proto)\//,
    why: "finish it, or document the limitation in docs/",
  },
];

/** Words that are no terms of the field, and what to write instead. */
const TERMS: Readonly<Record<string, string>> = {
  "told|tells?|telling": "returns, reports, logs, notifies, throws",
  "whoever|nobody|somebody": "name the subject: the caller, the client, the account holder",
  "begun|anew|dear(?:er|est)?": "started, again, expensive",
  "doors?|keepers?|floors?": "transport, server, handler or endpoint; background worker; layer",
  "glances?|passages?|standings|testimony|sightings?":
    "fast path, submission, finality status, endpoint report, match",
  "tokens ahead|recent answers|laid over|given back|looked after":
    "token prefetch, replay cache, merged, refunded, checked",
  "as ever|so many at most|what it is that|where it is asked": "write subject, verb, object",
  "whence|thereof|lest|nought": "write standard English",
};

const DIALECT: readonly Ban[] = Object.entries(TERMS).map(([words, why]) => ({
  pattern: new RegExp(`(?<![\\w$"'\`/.-])(?:${words})(?![\\w"'\`(:-]|\\.\\w)`, "i"),
  where: /./,
  why: `not a term of the field; ${why}`,
}));

/** The system account `nobody`, and texts of wallets that are matched literally. */
const OTHERS_WORDS =
  /^(?:src\/dev\/embedded-postgres|test\/dev\/embedded-postgres|src\/sandbox\/process)|wallet-error\.ts$/;
/** The ban list and its test contain the banned words. The licence is not ours. */
const SPELLS_THEM = /^(?:LICENSE|proto\/LICENSE|test\/tooling\/words(?:\.test)?\.ts)$/;

/** Every banned word in a text, one line each: `file:line: word: why`. */
export function bannedWords(file: string, text: string): string[] {
  const bans = OTHERS_WORDS.test(file) ? BANS : [...BANS, ...DIALECT];
  const held = bans.filter((ban) => ban.where.test(file));
  return text.split("\n").flatMap((line, index) =>
    held.flatMap(({ pattern, why }) => {
      const found = pattern.exec(line);
      return found ? [`${file}:${index + 1}: ${JSON.stringify(found[0])}: ${why}`] : [];
    }),
  );
}

/** Reads the project's own text files. */
export async function wordsAreFit(): Promise<Finished> {
  const files = (await textFiles()).filter((file) => !SPELLS_THEM.test(file));
  const found = await Promise.all(
    files.map(async (file) => bannedWords(file, await readFile(path.join(ROOT, file), "utf8"))),
  );
  const lines = found.flat();
  return { code: lines.length === 0 ? 0 : 1, output: lines.map((line) => `${line}\n`).join("") };
}
