import { appendFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

// What `npm test` keeps during a run, to look through it at its end (test/tooling/leaks.ts): the secrets that
// tests make, and all that was logged and answered with an error. Without TEST_RECORD nothing is kept.

const folder = process.env["TEST_RECORD"];

/** Where logs go; undefined: nowhere. */
export const LOG_FILE = folder === undefined ? undefined : file("log");

/** Keeps a secret, and returns it. */
export function secret<Secret extends string | Uint8Array>(kind: string, value: Secret): Secret {
  if (folder === undefined) return value;
  const entry = typeof value === "string" ? { text: value } : { hex: Buffer.from(value).toString("hex") };
  appendFileSync(file("secrets"), `${JSON.stringify({ kind, ...entry })}\n`);
  return value;
}

/** Keeps what was logged, or answered with an error. */
export function record(text: string): void {
  if (folder !== undefined) appendFileSync(file("log"), `${text}\n`);
}

/** One for each process, so that no two write into each other's lines. */
function file(kind: "log" | "secrets"): string {
  return path.join(folder ?? "", `${process.pid}.${kind}`);
}
