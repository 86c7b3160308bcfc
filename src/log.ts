import { fstatSync } from "node:fs";
import process from "node:process";
import { pino, type DestinationStream, type Logger } from "pino";

export type { Logger };

/** What must never reach a log line, wherever in an object it stands. */
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

/** What looks like a secret, wherever in a text it stands, and what is written instead: API keys, and passwords in addresses. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/sk-agent-[\w-]{12,}/g, "sk-agent-***"],
  [/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g, "$1***@"],
  [/([?&]\w*password=)[^\s&"]+/gi, "$1***"],
];

/** What a log is like besides its level. */
export interface LogOptions {
  /** Values that no line may hold, whoever repeats them: an upstream may echo the key that it refuses. */
  readonly secrets: readonly string[];
  /** Where to, instead of stderr. */
  readonly file?: string;
  /** Text for people goes to stdout: lines are for people too where stdout and stderr are one file. */
  readonly besideText?: boolean;
}

/** The log: JSON lines on stderr; for people when stderr is a terminal and the pretty printer is installed (it is not in production). */
export function createLogger(level: string, { secrets, file, besideText = false }: LogOptions): Logger {
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

/** Takes the secrets out of a line, in every form that a line can have them in. */
function scrubber(secrets: readonly string[]): (line: string) => string {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString("base64");
    return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64];
  });
  // The longest first: none may be left over because a part of it was taken out.
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

/** Whether two descriptors are the same file, pipe or terminal. */
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
