import process from "node:process";
import { pino, type Logger } from "pino";

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

/** The log: JSON lines on stderr; for people when stderr is a terminal and the pretty printer is installed (it is not in production). */
export function createLogger(level: string): Logger {
  const redact = { paths: SECRETS.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]), censor: "***" };
  const options = { level, redact, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino(options, prettyOrPlain());
}

function prettyOrPlain() {
  try {
    return pino.transport({ target: "pino-pretty", options: { destination: 2, ignore: "pid,hostname" } });
  } catch {
    return pino.destination({ dest: 2, sync: true });
  }
}
