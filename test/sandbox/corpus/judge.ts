import type { SandboxOutcome } from "../../../src/domain/tools/sandbox.ts";
import type { Case } from "./case.ts";
import type { CanaryHost } from "./canary-host.ts";

export interface Caps {
  readonly outputBytes: number;
}

const MAX_RESULT_BYTES = 262_144;
/** Tolerated delay after the time limit on a busy machine, ms. */
const GRACE_MS = 5_000;

/** Returns the problems of an outcome; none if the attack ran and was prevented. */
export function judge(one: Case, outcome: SandboxOutcome, host: CanaryHost, caps: Caps): string[] {
  const reported = JSON.stringify([outcome.result, outcome.error]);
  const texts = [outcome.stdout, outcome.stderr, reported];
  const problems = [...escapesIn(outcome.stdout), ...escapesIn(outcome.stderr)];
  if (texts.some((text) => text.includes(host.secret))) problems.push("the host's secret came out");
  if (reported.includes("ESCAPED")) problems.push(`an escape was reported: ${reported.slice(0, 200)}`);
  if (!one.ends.includes(outcome.status)) {
    problems.push(
      `it ended ${outcome.status}, not ${one.ends.join(" or ")}: ${reported.slice(0, 500)} ${outcome.stderr.slice(-300)}`,
    );
  }
  problems.push(...madeItsAttack(one, outcome, reported));
  for (const text of [outcome.stdout, outcome.stderr]) {
    if (Buffer.byteLength(text) > caps.outputBytes) problems.push(`it said ${Buffer.byteLength(text)} bytes`);
  }
  if (Buffer.byteLength(JSON.stringify(outcome.result)) > MAX_RESULT_BYTES)
    problems.push("its result is too long");
  if (reported.length > 2 * MAX_RESULT_BYTES) problems.push("its error is too long");
  if (!texts.every((text) => text.isWellFormed())) problems.push("it said what is no Unicode");
  const most = (one.timeoutMs ?? DEFAULT_TIMEOUT_MS) + GRACE_MS;
  if (outcome.durationMs > most) problems.push(`it took ${outcome.durationMs} ms`);
  return problems;
}

/** Time limit for code that ends on its own on a busy machine, ms. */
export const DEFAULT_TIMEOUT_MS = 20_000;

export function escapesIn(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("ESCAPED"));
}

function triesIn(text: string): number {
  return text.split("\n").filter((line) => /^tried |^\S+ ?\?? ?tried /.test(line)).length;
}

/** Code that did not run proves nothing. */
function madeItsAttack(one: Case, { stdout, result }: SandboxOutcome, reported: string): string[] {
  const problems: string[] = [];
  const tries = triesIn(stdout);
  if (one.tries !== undefined && tries !== one.tries)
    problems.push(`it made ${tries} attempts, not ${one.tries}:\n${stdout}`);
  if (one.says !== undefined && !stdout.includes(one.says))
    problems.push(`it never said ${one.says}: ${stdout.slice(0, 500)}`);
  if (one.error !== undefined && !reported.includes(one.error))
    problems.push(`its error is not ${one.error}: ${reported.slice(0, 500)}`);
  if (one.result !== undefined && JSON.stringify(result) !== JSON.stringify(one.result)) {
    problems.push(`its result is ${JSON.stringify(result).slice(0, 300)}`);
  }
  return problems;
}
