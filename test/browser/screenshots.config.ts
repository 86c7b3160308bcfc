import { mergeConfig } from "vitest/config";
import tests from "../vitest.config.ts";

// `npm run screenshots` renews docs/screenshots with the servers of the tests.
export default mergeConfig(
  { ...tests, test: { ...tests.test, include: [] } },
  { test: { include: ["test/browser/screenshots.run.ts"], testTimeout: 300_000 } },
);
