import path from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";
import { unitTests } from "./tooling/test-groups.ts";

const root = path.resolve(import.meta.dirname, "..");
const unit = unitTests(root);
const generate = "test/httpjson/generate.ts";
/** Short forms of the labs, the benchmark, the fault and the soak test: `npm run test:labs`. */
const labs = [
  "test/faults/{faults,stop}.test.ts",
  "test/bench/bench.test.ts",
  "test/deploy/debian/*.test.ts",
  "test/deploy/runbooks/*.test.ts",
  "test/cells/lab/*.test.ts",
  "test/failover/failover.test.ts",
  "test/restore-lab/restore-lab.test.ts",
  "test/upgrade-lab/upgrade-lab.test.ts",
  "test/soak/soak.test.ts",
  "test/security/costs/{attack,search}.test.ts",
];

/** On servers of their own. */
const labsProject = {
  extends: true as const,
  test: {
    name: "labs",
    include: [...labs, "test/clients/clients.test.ts", "test/postgres/operations/tamperings.test.ts"],
    env: { EVERY_CELL: "1" },
    globalSetup: ["test/support/global-setup.ts"],
    // Each of them uses all cores: one after the other, after all others.
    fileParallelism: false,
    sequence: { groupOrder: 1 },
  },
};

export default defineConfig({
  root,
  test: {
    pool: "forks",
    setupFiles: ["test/tooling/file-cost.ts"],
    // On two processors: much of a test's time is waiting, for another process or a timer.
    maxWorkers: 5,
    // Files share a worker's modules: reloading them per file would take a third of the total time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // The limit ends a test that hangs. It must not end one on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // Likewise. What must be noticed before a cached key expires, in 30 seconds, has a limit of its own.
    expect: { poll: { timeout: 300_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: unit,
          globalSetup: [generate],
          setupFiles: ["test/tooling/unit-guard.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [...unit, ...labs],
          globalSetup: [generate, "test/support/global-setup.ts"],
        },
      },
      ...(process.env["TEST_POSTGRES"] ? [] : [labsProject]),
    ],
  },
});
