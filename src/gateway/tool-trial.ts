import { randomUUID } from "node:crypto";
import type { ToolTrial } from "../app/operations/config-versions.ts";
import { chargeOf } from "../domain/calls/receipt.ts";
import type { Caller } from "../domain/accounts/caller.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { JsonObject } from "../domain/core/json.ts";
import type { Log } from "../domain/core/log.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { CustomToolSettings } from "../tools/custom/settings.ts";
import { openCustomTool } from "./custom-tools.ts";

/** How long a server may take to describe the tool, ms. */
const DESCRIBE_MS = 30_000;

const TIER = { ratePerMinute: 1, burst: 1 };

const NO_CALLER: Caller = {
  keyId: "",
  accountId: "",
  scopes: new Set(),
  tier: TIER,
  accountTier: TIER,
  operator: false,
  limits: undefined,
  budgeted: false,
  limitsVersion: 0,
  blockedReason: undefined,
};

/**
 * Calls a custom tool on its real server as a caller without an account would. Nothing is charged or stored.
 * @throws ToolgateError of the call; TOOL_FAILED with the reason when the tool is unavailable
 */
export async function tryTool(
  settings: CustomToolSettings,
  { params, signal, log }: { params: JsonObject; signal: AbortSignal; log: Log },
): Promise<ToolTrial> {
  const overdue = AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_MS)]);
  const opened = await openCustomTool(settings, log, overdue).catch(async (error: unknown) => {
    signal.throwIfAborted();
    const { unavailableBecause } = await import("../tools/custom/unavailable.ts");
    const { details } = unavailableBecause(error);
    throw new ToolgateError("TOOL_FAILED", `${settings.name} is unavailable: ${details}`, { cause: error });
  });
  try {
    return await trial(opened.tool, params, signal);
  } finally {
    await opened.close();
  }
}

async function trial(tool: Tool, params: JsonObject, signal: AbortSignal): Promise<ToolTrial> {
  const prepared = tool.prepare(params);
  const { price } = prepared;
  const used: { amount?: MicroUsd } = {};
  const result = await prepared.run({
    caller: NO_CALLER,
    runId: undefined,
    idempotencyKey: randomUUID(),
    signal,
    meter: (amount) => void (used.amount = amount),
  });
  return { price, charge: used.amount === undefined ? price : chargeOf(price, used.amount), result };
}
