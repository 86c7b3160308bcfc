import type { SandboxJob, SandboxLanguage } from "../../src/domain/tools/sandbox.ts";

/** Code of the engine contract. A simulated engine may recognise it. */
export const ANSWERS_42 = { javascript: "export default 6 * 7;", python: "6 * 7" } as const;
export const ENDLESS = { javascript: "for (;;);", python: "while True: pass" } as const;

let count = 0;

/** A job with a unique run id. */
export function job(
  code: string,
  language: SandboxLanguage = "javascript",
  more: Partial<SandboxJob> = {},
): SandboxJob {
  count += 1;
  const runId = `run_${Date.now().toString(16).padStart(12, "0")}${process.pid.toString(16).padStart(10, "0")}${count.toString(16).padStart(10, "0")}`;
  return { runId, language, code, stdin: "", timeoutMs: 10_000, ...more };
}
