import { z } from "zod";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import { defineTool } from "./define-tool.ts";

export interface StatusDeps {
  /** As in GET /health. */
  readonly version: string;
  /** Available balance of the account, micro-USD. */
  readonly balance: (accountId: string) => Promise<MicroUsd>;
}

/** Returns the service's version and the caller's balance (specification 2.2). */
export function getStatus({ version, balance }: StatusDeps): Tool {
  return defineTool({
    name: "get_status",
    description:
      "Reports the service's version and status and the balance of the calling account in USDC. Takes no parameters. Free.",
    scope: undefined,
    annotations: { readOnlyHint: true, openWorldHint: false },
    params: z.strictObject({}),
    price: undefined,
    run: async (_params, { caller }) => ({
      version,
      status: "healthy",
      balance_usdc: formatUsdc(await balance(caller.accountId)),
    }),
  });
}
