import { appendFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

// The record of a run of `npm test` (test/tooling/leaks.ts): secrets of the tests, logs and error responses.
// Without TEST_RECORD nothing is kept.

const folder = process.env["TEST_RECORD"];

/** Log destination; undefined: none. */
export const LOG_FILE = folder === undefined ? undefined : file("log");

/** Keeps a secret, unless it is empty, and returns it. */
export function secret<Secret extends string | Uint8Array>(kind: string, value: Secret): Secret {
  if (folder === undefined || value.length === 0) return value;
  const entry = typeof value === "string" ? { text: value } : { hex: Buffer.from(value).toString("hex") };
  appendFileSync(file("secrets"), `${JSON.stringify({ kind, ...entry })}\n`);
  return value;
}

/** Records logs and error responses. */
export function record(text: string): void {
  if (folder !== undefined) appendFileSync(file("log"), `${text}\n`);
}

/** One for each process, so that no two write into each other's lines. */
function file(kind: "log" | "secrets"): string {
  return path.join(folder ?? "", `${process.pid}.${kind}`);
}
