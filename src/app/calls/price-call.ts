import type { Caller } from "../../domain/accounts/caller.ts";
import type { CallRecord } from "../../domain/calls/call-context.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { prepare, type ToolCall, withPresentParams } from "./call-tool.ts";
import type { Catalogue } from "./catalogue.ts";
import { callLimitError, limitError, requireToolAccess } from "./refusals.ts";
import type { Ledger } from "./ledger.ts";

export interface PriceCallDeps {
  readonly catalogue: Pick<Catalogue, "resolve">;
  readonly ledger: Pick<Ledger, "balance" | "refusalOf">;
}

/** The price of a call, micro-USD. */
export interface CallPrice {
  /** 0n if the call is free. */
  readonly price: MicroUsd;
  /** Whether the price is the most that the call costs. */
  readonly metered: boolean;
  readonly balance: MicroUsd;
  /** Amount missing on the balance; 0n if it covers the price. */
  readonly missing: MicroUsd;
}

/**
 * Prices a call without running it. Stores nothing and issues no quote.
 * @throws ToolgateError as the call would: tool, access, parameters, limits of the key
 */
export async function priceCall(
  { catalogue, ledger }: PriceCallDeps,
  call: Pick<ToolCall, "tool" | "params" | "form">,
  caller: Caller,
  record?: CallRecord,
): Promise<CallPrice> {
  const tool = catalogue.resolve(call.tool);
  requireToolAccess(tool, caller);
  const { price } = await prepare(tool, withPresentParams(tool, call), record);
  const limited = { tool: tool.name, price, caller, fingerprint: undefined };
  const beyond = callLimitError(limited);
  if (beyond) throw beyond;
  const counted = { keyId: caller.keyId, tool: tool.name, price };
  const [balance, refusal] = await Promise.all([
    ledger.balance(caller.accountId),
    caller.budgeted && price > 0n ? ledger.refusalOf(counted) : undefined,
  ]);
  if (refusal) throw limitError(limited, refusal);
  const missing = price > 0n && price > balance ? price - balance : 0n;
  return { price, metered: tool.metered ?? false, balance, missing };
}
