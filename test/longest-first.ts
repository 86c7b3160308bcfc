import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Long files start first: one that starts last would keep a core waiting. */
const LONGEST = [
  "test/check.test.ts",
  "test/browser/console.test.ts",
  "test/sandbox/negative-control.test.ts",
  "test/sandbox/corpus.test.ts",
  "test/e2e/second-start.test.ts",
  "test/instances/crash.test.ts",
  "test/sandbox/contract.test.ts",
  "test/instances/sandbox-cancel.test.ts",
  "test/e2e/readme.test.ts",
  "test/clients/clients.test.ts",
  "test/instances/leader.test.ts",
  "test/instances/drain.test.ts",
  "test/cli/commands.test.ts",
];

/** Starts with the longest files and ends with the unit tests, which have their own workers. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (project.name === "unit") return LONGEST.length + 1;
      const index = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return index < 0 ? LONGEST.length : index;
    };
    return [...(await super.sort(files))].sort((a, b) => rank(a) - rank(b));
  }
}
