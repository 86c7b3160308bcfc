import path from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./longest-first.ts";

export default defineConfig({
  root: path.resolve(import.meta.dirname, ".."),
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // Tests start servers and a database works beside them: with a third worker, a fifth faster, the tightest of them miss their limits.
    maxWorkers: 2,
    // Files share a worker's modules: to load them anew for each file would take a third of the time of all tests.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What a poll waits for comes late on a machine that is busy with the other files.
    expect: { poll: { timeout: 10_000 } },
  },
});
