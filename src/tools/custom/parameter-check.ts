import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import * as formats from "ajv-formats";
import { ToolgateError } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { TimeLimitError, withinMs } from "./time-limit.ts";
import { explainErrors } from "./explain-errors.ts";

/** Longest that a schema may take to be understood, and the parameters of one call to be checked, ms. */
const COMPILE_MS = 2_000;
const CHECK_MS = 200;

/** Values in parameters of which every error is looked for; of more, only the first. */
const FEW_VALUES = 200;

/** Checks parameters against a JSON Schema (2020-12) that somebody else wrote. */
export class ParameterCheck {
  readonly #schema: JsonObject;
  /** Stops at the first error. */
  readonly #first: ValidateFunction;
  readonly #every: ValidateFunction;

  /** @throws Error when the schema is none */
  constructor(schema: JsonObject) {
    this.#schema = schema;
    this.#first = compiled(schema, false);
    this.#every = compiled(schema, true);
  }

  /** @throws ToolgateError INVALID_REQUEST with a sentence for each field */
  check(params: JsonObject): void {
    const problems = this.#problems(params);
    if (problems !== undefined) throw new ToolgateError("INVALID_REQUEST", problems);
  }

  #problems(params: JsonObject): string | undefined {
    try {
      return withinMs(CHECK_MS, () => {
        if (this.#first(params)) return undefined;
        const { errors } = this.#first;
        if (!hasFewValues(params)) return explainErrors(errors ?? [], params, this.#schema);
        this.#every(params);
        return explainErrors(this.#every.errors ?? [], params, this.#schema);
      });
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      return "params: cannot be checked in reasonable time; send shorter or fewer values";
    }
  }
}

function compiled(schema: JsonObject, allErrors: boolean): ValidateFunction {
  return withinMs(COMPILE_MS, () => {
    const ajv = new Ajv2020({
      // Foreign schemas have keywords and formats of their own.
      strict: false,
      logger: false,
      allErrors,
      verbose: true,
      // A member is what the caller sent, not what every object of JavaScript has.
      ownProperties: true,
      // What is referred to often is not repeated in the code as often.
      inlineRefs: false,
      code: { regExp: lenientRegExp },
    });
    formats.default.default(ajv);
    return ajv.compile(schema);
  });
}

/** Whether there are so few that all errors in them are found at once. */
function hasFewValues(params: JsonObject): boolean {
  const waiting: unknown[] = [params];
  let seen = 0;
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== "object" || value === null) continue;
    // An array knows how long it is; an object has to be gone through.
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    seen += inner.length;
    if (seen > FEW_VALUES) return false;
    waiting.push(...inner);
  }
  return true;
}

/** Patterns are ECMA-262 with Unicode (JSON Schema 2020-12, 6.4); those that escape more than that allows are read as they were meant. */
const lenientRegExp = Object.assign(
  (pattern: string, flags: string): RegExp => {
    try {
      return new RegExp(pattern, flags);
    } catch {
      return new RegExp(pattern, flags.replace("u", ""));
    }
  },
  { code: "lenientRegExp" },
);
