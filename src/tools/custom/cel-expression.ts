import { celEnv, isCelError, isCelUint, parse, plan, type CelInput } from "@bufbuild/cel";
import type { JsonValue } from "../../domain/core/json.ts";
import { withinMs } from "./time-limit.ts";
import { unknownNames } from "./expression-names.ts";

/** ms */
const LIMIT_MS = 100;

/** A CEL expression of the configuration. */
export class CelExpression {
  readonly #evaluate: (variables: Record<string, CelInput>) => unknown;

  /** @throws Error with a message for the operator if it does not compile or uses other variables */
  constructor(text: string, variables: readonly string[]) {
    const parsed = parse(text);
    const env = celEnv();
    const unknown = unknownNames(parsed.expr, variables, (name) => env.funcs.find(name) !== undefined);
    if (unknown.length > 0) {
      const available = variables.join(", ");
      throw new Error(
        `uses the unknown names ${[...new Set(unknown)].join(", ")}; only ${available} ` +
          `${variables.length === 1 ? "is" : "are"} available`,
      );
    }
    this.#evaluate = plan(env, parsed);
  }

  /**
   * Evaluates the expression: whole numbers are bigint, doubles are number.
   * @throws Error if it fails or takes too long
   */
  valueOf(variables: Readonly<Record<string, JsonValue>>): unknown {
    const value = withinMs(LIMIT_MS, () => {
      const inputs = Object.entries(variables).map(([name, input]) => [name, celInput(input)] as const);
      return this.#evaluate(Object.fromEntries(inputs));
    });
    if (isCelError(value)) throw new Error(value.message.slice(0, 200));
    return isCelUint(value) ? value.value : value;
  }
}

/** Converts integers to int, other numbers to double and objects to maps. */
function celInput(value: JsonValue): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celInput);
  if (typeof value === "object" && value !== null)
    return new Map(Object.entries(value).map(([name, member]) => [name, celInput(member)]));
  return value;
}
