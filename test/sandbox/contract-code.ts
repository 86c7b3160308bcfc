import type { AccountJob, SandboxLanguage } from "../../src/domain/tools/sandbox.ts";

/** Code of the engine contract. A simulated engine may recognise it. */
export const ANSWERS_42 = { javascript: "export default 6 * 7;", python: "6 * 7" } as const;
export const ENDLESS = { javascript: "for (;;);", python: "while True: pass" } as const;

let count = 0;

/** A job of an account of its own. */
export function job(
  code: string,
  language: SandboxLanguage = "javascript",
  more: Partial<AccountJob> = {},
): AccountJob {
  count += 1;
  const runId = `run_${Date.now().toString(16).padStart(12, "0")}${process.pid.toString(16).padStart(10, "0")}${count.toString(16).padStart(10, "0")}`;
  return { accountId: `acct_${count}`, runId, language, code, stdin: "", timeoutMs: 10_000, ...more };
}
