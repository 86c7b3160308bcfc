import { allowsTool, type Caller } from "../../domain/accounts/caller.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { LimitRefusal } from "./ledger.ts";
import { LimitReachedError } from "./limit-reached-error.ts";

/**
 * Checks the key's scopes and tools. Applies to free calls too.
 * @throws ToolgateError FORBIDDEN
 */
export function requireToolAccess({ name, scope }: Tool, caller: Caller): void {
  if (scope !== undefined && !caller.scopes.has(scope))
    throw forbidden(`the API key lacks the scope ${scope}, which ${name} needs; use a key that has it`);
  if (!allowsTool(caller, name)) {
    const tools = [...(caller.limits?.tools ?? [])].join(", ");
    throw forbidden(`the API key is limited to the tools ${tools}; use a key that may call ${name}`);
  }
}

/**
 * Checks the key's limit per call, for every payment method.
 * @param price micro-USD
 * @throws LimitReachedError
 */
export function requirePriceWithinLimit(tool: string, { limits }: Caller, price: MicroUsd): void {
  const limit = limits?.perCall;
  if (limit === undefined || price <= limit) return;
  const counted = { group: undefined, spent: 0n, resetsAt: undefined, reported: true };
  throw new LimitReachedError(tool, price, { period: "call", limit, ...counted });
}

/** The error of a call that the ledger refused. Limits may have changed since the key was authenticated. */
export function limitError(tool: string, price: MicroUsd, refusal: LimitRefusal): ToolgateError {
  return refusal.kind === "capped"
    ? new LimitReachedError(tool, price, refusal.limit)
    : forbidden(`the API key may no longer call ${tool}; use a key that may`);
}

function forbidden(message: string): ToolgateError {
  return new ToolgateError("FORBIDDEN", message);
}
