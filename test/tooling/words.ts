import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import { ROOT, type Finished } from "./command.ts";

/** Words that must not be committed, the places where that holds, and what to write instead. */
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
    why: "speaks of how the text came about; the project's files speak of the project alone",
  },
  { pattern: /\b(?:describe|it|test|suite)\.only\(/, where: /^test\//, why: "leaves every other test out" },
  {
    pattern: /\b(?:TO\s?DO|FIX\s?ME|XXX)\b(?!-)/,
    where: /^(?:src|test|proto)\//,
    why: "finish it, or say in docs/ what falls short",
  },
];

/** Words that the code once used for the terms of the field. */
const TERMS: Readonly<Record<string, string>> = {
  "told|tells?|telling": "say what happens: returns, reports, logs, notifies, throws",
  "whoever|nobody|somebody": "name the subject: the caller, the client, the account holder",
  "begun|anew|dear(?:er|est)?": "started, again, expensive",
  "doors?|keepers?": "transport, server, handler or endpoint; background worker",
  "glances?|passages?|standings|testimony": "fast path, submission, finality status, endpoint report",
  "tokens ahead|recent answers|laid over|given back": "token prefetch, replay cache, merged, refunded",
};

/** Where these words no longer occur. */
const PLAIN =
  /^(?:src\/(?:cli|config|console|domain|gateway|httpjson|inference|metrics|outbound|payments|postgres|solana|tools|transport)|proto\/(?:toolgate|httpjson)|docs\/(?:explanation|guides|reference|tutorials))\/|^[A-Z]+\.md$/;

const DIALECT: readonly Ban[] = Object.entries(TERMS).map(([words, why]) => ({
  pattern: new RegExp(`(?<![\\w$"'\`/.-])(?:${words})(?![\\w"'\`-])`, "i"),
  where: PLAIN,
  why: `not a term of the field; ${why}`,
}));

const TEXT =
  /\.(?:ts|tsx|mjs|js|json|jsonc|yaml|yml|proto|md|html|css|sql|sh|py|toml)$|(?:^|\/)\.[a-z]+$|^LICENSE$/;
const SKIPPED =
  /^(?:node_modules|gen|test\/httpjson\/gen|\.git|\.toolgate|package-lock\.json|proto\/(?:google|grpc|buf))(?:\/|$)/;
/** The ban list and its test have to spell what they ban. */
const SPELLS_THEM = /^test\/tooling\/words(?:\.test)?\.ts$/;

/** Every banned word in a text, one line each: `file:line: word: why`. */
export function bannedWords(file: string, text: string): string[] {
  const bans = [...BANS, ...DIALECT].filter((ban) => ban.where.test(file));
  return text.split("\n").flatMap((line, index) =>
    bans.flatMap(({ pattern, why }) => {
      const found = pattern.exec(line);
      return found ? [`${file}:${index + 1}: ${JSON.stringify(found[0])}: ${why}`] : [];
    }),
  );
}

/** Reads the project's own text files; git is not asked, so it works in an unpacked archive too. */
export async function wordsAreFit(): Promise<Finished> {
  const files = await textFiles("");
  const found = await Promise.all(
    files.map(async (file) => bannedWords(file, await readFile(path.join(ROOT, file), "utf8"))),
  );
  const lines = found.flat();
  return { code: lines.length === 0 ? 0 : 1, output: lines.map((line) => `${line}\n`).join("") };
}

async function textFiles(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(ROOT, folder), { withFileTypes: true });
  const below = await Promise.all(
    entries.map(async (entry) => {
      const name = path.posix.join(folder, entry.name);
      if (SKIPPED.test(name) || SPELLS_THEM.test(name)) return [];
      if (entry.isDirectory()) return textFiles(name);
      return entry.isFile() && TEXT.test(name) ? [name] : [];
    }),
  );
  return below.flat().sort();
}
