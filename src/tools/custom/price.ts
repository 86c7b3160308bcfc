import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { PriceSection } from "./config.ts";

export interface Price {
  readonly billable: boolean;
  /** Undefined for free tools and prices that depend on parameters. */
  readonly fixed: MicroUsd | undefined;
  /** The most that a call costs, if that depends on parameters; undefined: there is no bound. */
  readonly ceiling?: MicroUsd | undefined;
  /** Returns why no parameters of this schema have a price. */
  problemWith?(inputSchema: JsonObject): string | undefined;
  /** @throws ToolgateError INVALID_REQUEST naming `params` if they have no price */
  of(params: JsonObject): MicroUsd;
}

export const FREE: Price = { billable: false, fixed: undefined, of: () => 0n };

/** Returns the price of a tool that cannot be called, since its expression cannot be used. */
export function unusablePrice(section: PriceSection): Price {
  const of = () => {
    throw new Error("the price has no usable expression");
  };
  return { billable: !("free" in section), fixed: undefined, of };
}

/** Creates a price; imports CEL only for expressions. @throws Error with a message for the operator */
export async function priceFrom(section: PriceSection): Promise<Price> {
  if ("free" in section) return FREE;
  if ("flat_microusd" in section) {
    const { flat_microusd: fixed } = section;
    return { billable: true, fixed, of: () => fixed };
  }
  const { PriceExpression } = await import("./price-expression.ts");
  const bounds = { minimum: section.minimum_microusd, maximum: section.maximum_microusd };
  const expression = new PriceExpression(section.expression, bounds);
  return {
    billable: true,
    fixed: undefined,
    ceiling: bounds.maximum,
    problemWith: (inputSchema) => expression.problemWith(inputSchema),
    of: (params) => expression.priceOf(params),
  };
}
