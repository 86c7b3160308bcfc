import { z } from "zod";

/** Outcome of the tests for a mutant. */
export type Verdict =
  /** An expectation failed while the rest of the program worked; full names of the failed tests. */
  | { readonly kind: "caught"; readonly by: readonly string[] }
  /** All tests passed. */
  | { readonly kind: "survived" }
  /** Proves nothing: the mutant is broken or only threw errors. */
  | { readonly kind: "invalid"; readonly why: string };

/** The part of vitest's JSON report that is used. */
const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).default([]),
        }),
      ),
    }),
  ),
});

/** Errors of a broken program: unknown names, syntax errors, failed transforms. */
const BROKEN =
  /syntax error at|(?:column|relation|function|operator|type|constraint) .+ does not exist|there is no unique or exclusion constraint|(?:Syntax|Reference)Error|Transform failed|is not a function/;

/**
 * Returns the verdict of vitest's JSON report. A mutant is caught only if an expectation failed, another
 * test of the run passed (the program works), and no error shows a broken program.
 */
export function verdictOf(report: string | undefined): Verdict {
  const parsed = parse(report);
  if (!parsed) return { kind: "invalid", why: "vitest left no report: its set-up failed" };
  const unloaded = parsed.testResults.find(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  if (unloaded)
    return { kind: "invalid", why: `${unloaded.name} did not run: ${firstLine(unloaded.message)}` };
  const tests = parsed.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === "failed");
  if (!tests.some(({ status }) => status === "passed")) return { kind: "invalid", why: "no test passed" };
  const [first] = failed;
  if (!first) return { kind: "survived" };
  const broken = failed
    .flatMap(({ failureMessages }) => failureMessages)
    .find((message) => BROKEN.test(message));
  if (broken !== undefined) return { kind: "invalid", why: `the program is broken: ${firstLine(broken)}` };
  const by = failed
    .filter(({ failureMessages }) => failureMessages.some((message) => EXPECTATION.test(message)))
    .map(({ fullName }) => fullName);
  if (by.length > 0) return { kind: "caught", by };
  return { kind: "invalid", why: `no expectation failed, only: ${firstLine(first.failureMessages[0])}` };
}

/** Messages of failed expectations in vitest and fast-check; anything else is an error of the program. */
const EXPECTATION =
  /^(?:AssertionError|Error: promise (?:resolved|rejected) |Error: expected .+ to |Error: Property failed after )/;

function firstLine(text = ""): string {
  return text.trim().split("\n")[0] ?? "";
}

function parse(report: string | undefined) {
  if (report === undefined) return undefined;
  try {
    return reportSchema.parse(JSON.parse(report));
  } catch {
    return undefined;
  }
}
