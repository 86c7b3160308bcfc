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
  [/(sk-agent|tg-oauth)-[\w-]{12,}/g, "$1-***"],
  [/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, "$1***@"],
  [/([?&]\w*password=)[^\s&"]+/gi, "$1***"],
];

export interface LogOptions {
  /** Identifies this instance on every line, and in the database as the owner of runs. */
  readonly instanceId?: string;
  /** Values redacted everywhere: an upstream may echo the key it rejects. */
  readonly secrets: readonly string[];
  /** File to write to instead of stderr. */
  readonly file?: string;
  /** Whether stdout carries text for people: then log lines are readable too when both are one file. */
  readonly besideText?: boolean;
}

/** A log whose level can change. */
export interface ProcessLog extends Log {
  setLevel(level: string): void;
}

/** Secrets that were found after a log was created; a new array for each addition. */
let laterSecrets: readonly string[] = [];

/** Redacts these values from now on in every log of this process. */
export function redactToo(secrets: readonly string[]): void {
  const added = secrets.filter((secret) => !laterSecrets.includes(secret));
  if (added.length > 0) laterSecrets = [...laterSecrets, ...added];
}

/**
 * Creates the log: JSON lines on stderr, readable text when stderr is a terminal and pino-pretty is
 * installed.
 */
export function createLogger(
  level: string,
  { instanceId, secrets, file, besideText = false }: LogOptions,
): ProcessLog {
  const redact = {
    paths: SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
    censor: "***",
  };
  const hooks = { streamWrite: scrubber(secrets) };
  const options = {
    level,
    redact,
    hooks,
    base: instanceId === undefined ? null : { instance_id: instanceId },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  };
  const stream = destination(file, besideText);
  const [redacting, plain] = [pino(options, stream), pino({ ...options, redact: [] }, stream)];
  const logOf = (details: object) => (hasNoSecret(details) ? plain : redacting);
  return {
    info: (details, message) => logOf(details).info(details, message),
    warn: (details, message) => logOf(details).warn(details, message),
    error: (details, message) => logOf(details).error(details, message),
    setLevel: (changed) => {
      for (const each of [redacting, plain]) each.level = changed;
    },
  };
}

/** Whether nothing in the object is redacted. Redaction takes 100 us a line, ten times the line. */
function hasNoSecret(details: object): boolean {
  return Object.entries(details).every(
    ([name, value]) => (typeof value !== "object" || value === null) && !SECRETS.includes(name),
  );
}

/** Redacts the secrets in every encoding that a line may contain. */
function scrubber(secrets: readonly string[]): (line: string) => string {
  let later = laterSecrets;
  let known = formsOf([...secrets, ...later]);
  return (line) => {
    if (later !== laterSecrets) {
      later = laterSecrets;
      known = formsOf([...secrets, ...later]);
    }
    let clean = line;
    for (const form of known) clean = clean.replaceAll(form, "***");
    for (const [pattern, instead] of PATTERNS) clean = clean.replaceAll(pattern, instead);
    return clean;
  };
}

/** Every encoding of the secrets, longest first: otherwise part of a longer secret would remain. */
function formsOf(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString("base64");
    return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64];
  });
  return [...new Set(forms)].filter((form) => form !== "").sort((one, other) => other.length - one.length);
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
      options: {
        destination: 2,
        ignore: "pid,hostname,instance_id",
        singleLine: true,
        colorize: process.stderr.isTTY,
        sync: true,
      },
    });
  } catch {
    return pino.destination({ dest: 2, sync: true });
  }
}
