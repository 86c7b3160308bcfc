import { describe, expect, it } from "vitest";
import { verdictOf } from "./verdict.ts";

const EXPECTATION = "AssertionError: expected 1 to be 2\n    at ledger.test.ts:1:1";

/** A vitest report of one file: test name to failure message. */
function report(
  tests: Record<string, string | undefined>,
  file: { status?: string; message?: string } = {},
): string {
  const assertionResults = Object.entries(tests).map(([fullName, message]) => ({
    fullName,
    status: message === undefined ? "passed" : "failed",
    failureMessages: message === undefined ? [] : [message],
  }));
  const red = assertionResults.some(({ status }) => status === "failed");
  return JSON.stringify({
    success: !red,
    testResults: [
      { name: "a.test.ts", status: red ? "failed" : "passed", message: "", ...file, assertionResults },
    ],
  });
}

describe("verdict of a mutant", () => {
  it("is caught by every failed expectation if another test passed", () => {
    const tests = {
      works: undefined,
      notices: EXPECTATION,
      "notices that nothing was refused": 'Error: promise resolved "undefined" instead of rejecting',
      "notices what a promise resolved to":
        "Error: expected { kind: 'captured' } to deeply equal { kind: 'lost' }",
      "notices by a property": "Error: Property failed after 1 tests",
      breaks: "Error: no",
    };
    const by = Object.keys(tests).filter((name) => name.startsWith("notices"));
    expect(verdictOf(report(tests))).toEqual({ kind: "caught", by });
  });

  it("is survived if all tests pass", () => {
    expect(verdictOf(report({ works: undefined }))).toEqual({ kind: "survived" });
  });

  it.each<[string, string | undefined]>([
    ["there is no report", undefined],
    ["the report is not one of vitest", "{}"],
    ["there is no test", report({})],
    ["nothing passed", report({ notices: EXPECTATION })],
    ["a file did not load", report({ works: undefined }, { status: "failed", message: "cannot find x" })],
    ["tests only broke", report({ works: undefined, breaks: "error: deadlock detected" })],
    ["its SQL is wrong", report({ a: undefined, b: EXPECTATION, c: 'error: syntax error at or near "or"' })],
    [
      "its SQL names an unknown column",
      report({ a: undefined, b: EXPECTATION, c: 'error: column "x" does not exist' }),
    ],
    [
      "its JavaScript is wrong",
      report({ a: undefined, b: EXPECTATION, c: "ReferenceError: x is not defined" }),
    ],
  ])("is invalid if %s", (_when, text) => {
    expect(verdictOf(text)).toMatchObject({ kind: "invalid" });
  });
});
