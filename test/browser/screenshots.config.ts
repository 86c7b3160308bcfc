import { defineConfig } from "vitest/config";
import tests from "../vitest.config.ts";

// The projects of the tests would replace `include`.
const { projects: _projects, ...options } = tests.test ?? {};

// `npm run screenshots` renews docs/screenshots with the servers of the tests.
export default defineConfig({
  ...tests,
  test: {
    ...options,
    include: ["test/browser/screenshots.run.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 300_000,
  },
});
