import type { JsonObject } from "../../domain/json.ts";
import type { MicroUsd } from "../../domain/money.ts";
import type { PriceSection } from "./config.ts";

/** What calls of a tool cost. */
export interface Price {
  readonly billable: boolean;
  /** Undefined for free tools, and where it depends on the parameters. */
  readonly fixed: MicroUsd | undefined;
  /** @throws ToolgateError INVALID_REQUEST naming `params` where they have no price */
  of(params: JsonObject): MicroUsd;
}

/** What free tools cost. */
export const FREE: Price = { billable: false, fixed: undefined, of: () => 0n };

/**
 * Makes the price of a tool. The library for expressions is loaded only where there is one.
 * @throws Error with a sentence for the operator
 */
export async function priceFrom(section: PriceSection): Promise<Price> {
  if ("free" in section) return FREE;
  if ("flat_microusd" in section) {
    const { flat_microusd: fixed } = section;
    return { billable: true, fixed, of: () => fixed };
  }
  const { PriceExpression } = await import("./price-expression.ts");
  const bounds = { minimum: section.minimum_microusd, maximum: section.maximum_microusd };
  const expression = new PriceExpression(section.expression, bounds);
  return { billable: true, fixed: undefined, of: (params) => expression.priceOf(params) };
}
