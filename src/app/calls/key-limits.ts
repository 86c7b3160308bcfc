import { allowsTool, type Caller } from "../../domain/accounts/caller.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { KeyBudget } from "./ledger.ts";

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
 * @throws ToolgateError FORBIDDEN
 */
export function requirePriceWithinLimit(tool: string, { limits }: Caller, price: MicroUsd): void {
  if (limits?.perCall === undefined || price <= limits.perCall) return;
  throw forbidden(
    `the API key is limited to ${displayUsd(limits.perCall)} a call, and this call of ${tool} costs ` +
      `${displayUsd(price)}; ask for less, or use a key with a higher limit`,
  );
}

/** Returns the daily budget of the caller's key; undefined when the key has no daily limit. */
export function dailyBudgetOf({ keyId, budgetId, limits }: Caller): KeyBudget | undefined {
  return limits?.perDay === undefined ? undefined : { id: budgetId ?? keyId, perDay: limits.perDay };
}

/** FORBIDDEN at the daily limit. Offers no quote, because the account holder set the limit. */
export function dailyLimitReached(
  tool: string,
  price: MicroUsd,
  spent: MicroUsd,
  perDay: MicroUsd,
): ToolgateError {
  const figures =
    `the API key may take ${displayUsd(perDay)} a day from the balance, ${displayUsd(spent)} is spent, ` +
    `and this call of ${tool} costs ${displayUsd(price)}`;
  return forbidden(
    price > perDay
      ? `${figures}: ask for less, or use a key with a higher limit`
      : `${figures}: the limit resets at 00:00 UTC. Repeat the call then, or use another key`,
  );
}

function forbidden(message: string): ToolgateError {
  return new ToolgateError("FORBIDDEN", message);
}
