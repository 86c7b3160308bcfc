import { mergeConfig } from "vitest/config";
import tests from "../vitest.config.ts";

// `npm run screenshots`: makes the pictures of docs/screenshots anew, with the servers that tests have.
export default mergeConfig(
  { ...tests, test: { ...tests.test, include: [] } },
  { test: { include: ["test/browser/screenshots.run.ts"], testTimeout: 300_000 } },
);
