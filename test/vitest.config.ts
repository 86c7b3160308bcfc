import path from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";
import { unitTests } from "./tooling/test-groups.ts";

const root = path.resolve(import.meta.dirname, "..");
const unit = unitTests(root);

export default defineConfig({
  root,
  test: {
    pool: "forks",
    // On two processors: much of a test's time is waiting, for another process or a timer.
    maxWorkers: 4,
    // Files share a worker's modules: reloading them per file would take a third of the total time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // The limit ends a test that hangs. It must not end one on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    projects: [
      { extends: true, test: { name: "unit", include: unit, setupFiles: ["test/tooling/unit-guard.ts"] } },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: unit,
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
    ],
  },
});
