import { z } from "zod";
import { formatUsdc } from "../domain/core/money.ts";
import { builtIn } from "./built-in.ts";
import { defineTool } from "./define-tool.ts";

/** Returns the service's version and the caller's balance (specification 2.2). */
export const getStatus = builtIn({
  name: "get_status",
  docs: { price: "free", does: "version, status and balance" },
  make: ({ version, balance }) =>
    defineTool({
      name: "get_status",
      description:
        "Reports the service's version and status and the balance of the calling account in USDC. " +
        "Takes no parameters. Free.",
      scope: undefined,
      annotations: { readOnlyHint: true, openWorldHint: false },
      params: z.strictObject({}),
      price: undefined,
      run: async (_params, { caller }) => ({
        version,
        status: "healthy",
        balance_usdc: formatUsdc(await balance(caller.accountId)),
      }),
    }),
});
