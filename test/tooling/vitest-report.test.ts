import { describe, expect, it } from "vitest";

import { countTests } from "./vitest-report.ts";

function report(...files: { status: string; tests: string[] }[]): string {
  return JSON.stringify({
    testResults: files.map(({ status, tests }) => ({
      status,
      assertionResults: tests.map((test) => ({ status: test })),
    })),
  });
}

describe("the count at the end of npm test", () => {
  it("adds up the tests of every file", () => {
    const text = report(
      { status: "passed", tests: ["passed", "passed"] },
      { status: "failed", tests: ["passed", "failed", "skipped", "todo"] },
    );
    expect(countTests({ report: text, exitCode: 1 })).toEqual({ passed: 3, failed: 1, skipped: 2 });
  });

  it("counts a file that did not load as one failure", () => {
    const text = report({ status: "failed", tests: [] }, { status: "passed", tests: ["passed"] });
    expect(countTests({ report: text, exitCode: 1 })).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it("counts an error outside of every test as one failure", () => {
    const text = report({ status: "passed", tests: ["passed"] });
    expect(countTests({ report: text, exitCode: 1 })).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it.each([
    ["no report, because vitest crashed", undefined],
    ["an empty report", ""],
    ["a report of something else", '{"success":true}'],
    ["no test at all", report()],
    ["nothing but skipped tests", report({ status: "passed", tests: ["skipped"] })],
  ])("counts %s as one failure", (_what, text) => {
    expect(countTests({ report: text, exitCode: 0 })).toMatchObject({ passed: 0, failed: 1 });
  });
});
