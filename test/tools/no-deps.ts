import type { ToolDeps } from "../../src/tools/built-in.ts";

/** Without model server and sandbox. */
export const NO_DEPS: ToolDeps = {
  version: "1.0.0",
  balance: async () => 0n,
  inference: undefined,
  sandbox: undefined,
};
