/** How many tests passed, failed and were left out. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What vitest left behind: its JSON report, undefined when it wrote none, and its exit code. */
export interface VitestEnd {
  readonly report: string | undefined;
  readonly exitCode: number;
}

/**
 * The counts of a run. Whatever is not a passing run counts as at least one failure: no report, no test,
 * a file that did not load, an error outside of every test.
 */
export function countTests({ report, exitCode }: VitestEnd): Counts {
  const parsed = parseReport(report);
  if (!parsed) return { passed: 0, failed: 1, skipped: 0 };
  const statuses = parsed.flatMap((file) => file.statuses);
  const passed = statuses.filter((status) => status === "passed").length;
  const failedTests = statuses.filter((status) => status === "failed").length;
  const brokenFiles = parsed.filter((file) => file.failed && !file.statuses.includes("failed")).length;
  const failed = failedTests + brokenFiles;
  const skipped = statuses.length - passed - failedTests;
  const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: unexplained ? 1 : failed, skipped };
}

interface FileReport {
  readonly failed: boolean;
  readonly statuses: readonly string[];
}

/** The part of vitest's JSON report (which follows Jest's) that is counted; undefined for anything else. */
function parseReport(report: string | undefined): FileReport[] | undefined {
  try {
    const whole: unknown = JSON.parse(report ?? "");
    return list(whole, "testResults").map((file) => ({
      failed: text(file, "status") === "failed",
      statuses: list(file, "assertionResults").map((test) => text(test, "status")),
    }));
  } catch {
    return undefined;
  }
}

function member(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}

function list(of: unknown, name: string): unknown[] {
  const value = member(of, name);
  if (!Array.isArray(value)) throw new TypeError(`${name}: expected a list`);
  return value;
}

function text(of: unknown, name: string): string {
  const value = member(of, name);
  if (typeof value !== "string") throw new TypeError(`${name}: expected text`);
  return value;
}
