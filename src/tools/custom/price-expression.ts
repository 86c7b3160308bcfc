import { celEnv, isCelError, parse, plan, type CelInput } from "@bufbuild/cel";
import { invalidField } from "../../domain/core/errors.ts";
import type { JsonObject, JsonValue } from "../../domain/core/json.ts";
import { displayUsd, MAX_MICRO_USD, type MicroUsd } from "../../domain/core/money.ts";
import { withinMs } from "./time-limit.ts";
import { unknownNames } from "./expression-names.ts";

/** ms */
const LIMIT_MS = 100;

/** Lowest and highest price of a call, micro-USD. */
export interface PriceBounds {
  readonly minimum?: MicroUsd | undefined;
  readonly maximum?: MicroUsd | undefined;
}

/** A price computed by a CEL expression over `params`, as an int in micro-USD. */
export class PriceExpression {
  readonly #evaluate: (params: CelInput) => unknown;
  readonly #bounds: PriceBounds;

  /**
   * @throws Error with a message for the operator if it does not compile or uses other names than `params`
   */
  constructor(text: string, bounds: PriceBounds) {
    const parsed = parse(text);
    const env = celEnv();
    const unknown = unknownNames(parsed.expr, ["params"], (name) => env.funcs.find(name) !== undefined);
    if (unknown.length > 0)
      throw new Error(`uses the unknown names ${[...new Set(unknown)].join(", ")}; only params is available`);
    const evaluate = plan(env, parsed);
    this.#evaluate = (params) => evaluate({ params });
    this.#bounds = bounds;
  }

  /**
   * Evaluates the expression and clamps it to the bounds.
   * @throws ToolgateError INVALID_REQUEST if the value is missing or not a price
   */
  priceOf(params: JsonObject): MicroUsd {
    const value = this.#valueFor(params);
    if (typeof value !== "bigint")
      throw noPrice(
        isCelError(value) ? value.message.slice(0, 200) : "the price expression's value is not an integer",
      );
    if (value < 1n) throw noPrice(`the price expression's value is ${value}, which is below 1`);
    const { minimum, maximum } = this.#bounds;
    if (minimum !== undefined && value < minimum) return minimum;
    if (maximum !== undefined && value > maximum) return maximum;
    if (value > MAX_MICRO_USD) throw noPrice(`it would be more than ${displayUsd(MAX_MICRO_USD)}`);
    return value;
  }

  #valueFor(params: JsonObject): unknown {
    try {
      return withinMs(LIMIT_MS, () => this.#evaluate(celInput(params)));
    } catch (error) {
      throw noPrice(error instanceof Error ? error.message : String(error));
    }
  }
}

function noPrice(why: string): Error {
  return invalidField("params", `their price cannot be computed (${why}); change them`);
}

/** Converts integers to int, other numbers to double and objects to maps. */
function celInput(value: JsonValue): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celInput);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([name, member]) => [name, celInput(member)]));
  return value;
}
