import { invalidField } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd, MAX_MICRO_USD, type MicroUsd } from "../../domain/core/money.ts";
import { CelExpression } from "./cel-expression.ts";
import { unknownParameter } from "./named-parameters.ts";

/** Lowest and highest price of a call, micro-USD. */
export interface PriceBounds {
  readonly minimum?: MicroUsd | undefined;
  readonly maximum?: MicroUsd | undefined;
}

/** A price computed by a CEL expression over `params`, as an int in micro-USD. */
export class PriceExpression {
  readonly #expression: CelExpression;
  readonly #bounds: PriceBounds;

  /** @throws Error for the operator if it does not compile or uses other names than `params` */
  constructor(text: string, bounds: PriceBounds) {
    this.#expression = new CelExpression(text, ["params"]);
    this.#bounds = bounds;
  }

  /** Returns why no call can have a price; undefined if parameters of the schema can. */
  problemWith(inputSchema: JsonObject): string | undefined {
    return unknownParameter(this.#expression.paths, inputSchema);
  }

  /** Evaluates and clamps to the bounds. @throws ToolgateError INVALID_REQUEST if it is not a price */
  priceOf(params: JsonObject): MicroUsd {
    const value = this.#valueFor(params);
    if (typeof value !== "bigint") throw noPrice("the price expression's value is not an integer");
    if (value < 1n) throw noPrice(`the price expression's value is ${value}, which is below 1`);
    const { minimum, maximum } = this.#bounds;
    if (minimum !== undefined && value < minimum) return minimum;
    if (maximum !== undefined && value > maximum) return maximum;
    if (value > MAX_MICRO_USD) throw noPrice(`it would be more than ${displayUsd(MAX_MICRO_USD)}`);
    return value;
  }

  #valueFor(params: JsonObject): unknown {
    try {
      return this.#expression.valueOf({ params });
    } catch (error) {
      throw noPrice(error instanceof Error ? error.message : String(error));
    }
  }
}

function noPrice(why: string): Error {
  return invalidField("params", `their price cannot be computed (${why}); change them`);
}
