import { z } from "zod";

/** What the tests said of a mutant. */
export type Verdict =
  /** At least one expectation failed while the rest of the program worked: the full names of the tests that noticed. */
  | { readonly kind: "caught"; readonly by: readonly string[] }
  /** All tests passed: the guard could be lost without anybody noticing. */
  | { readonly kind: "survived" }
  /** The run proves nothing: the mutant does not work at all, or only threw errors. */
  | { readonly kind: "invalid"; readonly why: string };

/** The part of vitest's JSON report (which follows Jest's) that is looked at. */
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

/** What only a program that is broken says: PostgreSQL's syntax errors and unknown names, JavaScript's, and a transform that failed. */
const BROKEN =
  /syntax error at|(?:column|relation|function|operator|type|constraint) .+ does not exist|there is no unique or exclusion constraint|(?:Syntax|Reference)Error|Transform failed|is not a function/;

/**
 * Judges a run by vitest's JSON report. Red is not enough: a mutant is caught when an expectation of a test failed, other tests of
 * the same run passed, so that the schema was made and the program works, and nothing says that it is broken.
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

/** What vitest and fast-check say of an expectation that failed; whatever else is thrown is an error of the program. */
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
