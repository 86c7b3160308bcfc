import { fstatSync } from "node:fs";
import process from "node:process";
import { pino, type DestinationStream } from "pino";
import type { Log } from "./domain/core/log.ts";

/** Members redacted at any depth of a log object. */
const SECRETS = [
  "authorization",
  "cookie",
  "x-payment",
  "payment-signature",
  "secret",
  "api_key",
  "apiKey",
  "password",
  "database_url",
  "rpc_url",
];

/** Patterns redacted in any text, and their replacements: API keys, and passwords in URLs. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/sk-agent-[\w-]{12,}/g, "sk-agent-***"],
  [/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, "$1***@"],
  [/([?&]\w*password=)[^\s&"]+/gi, "$1***"],
];

export interface LogOptions {
  /** Values redacted everywhere: an upstream may echo the key it rejects. */
  readonly secrets: readonly string[];
  /** File to write to instead of stderr. */
  readonly file?: string;
  /** Whether stdout carries text for people: then log lines are readable too when both are one file. */
  readonly besideText?: boolean;
}

/**
 * Creates the log: JSON lines on stderr, readable text when stderr is a terminal and pino-pretty is
 * installed.
 */
export function createLogger(level: string, { secrets, file, besideText = false }: LogOptions): Log {
  const redact = {
    paths: SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
    censor: "***",
  };
  const hooks = { streamWrite: scrubber(secrets) };
  const options = {
    level,
    redact,
    hooks,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  return pino(options, destination(file, besideText));
}

/** Redacts the secrets in every encoding that a line may contain. */
function scrubber(secrets: readonly string[]): (line: string) => string {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString("base64");
    return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64];
  });
  // Longest first: otherwise part of a longer secret would remain.
  const known = [...new Set(forms)]
    .filter((form) => form !== "")
    .sort((one, other) => other.length - one.length);
  return (line) => {
    let clean = line;
    for (const form of known) clean = clean.replaceAll(form, "***");
    for (const [pattern, instead] of PATTERNS) clean = clean.replaceAll(pattern, instead);
    return clean;
  };
}

function destination(file: string | undefined, besideText: boolean): DestinationStream {
  if (file !== undefined) return pino.destination({ dest: file, sync: true });
  const forPeople = process.stderr.isTTY || (besideText && isOneFile(1, 2));
  return forPeople ? prettyOrPlain() : pino.destination({ dest: 2, sync: true });
}

/** Returns whether two descriptors are the same file, pipe or terminal. */
function isOneFile(one: number, other: number): boolean {
  const [a, b] = [fstatSync(one), fstatSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

function prettyOrPlain(): DestinationStream {
  try {
    return pino.transport({
      target: "pino-pretty",
      options: { destination: 2, ignore: "pid,hostname", colorize: process.stderr.isTTY, sync: true },
    });
  } catch {
    return pino.destination({ dest: 2, sync: true });
  }
}
