import canonicalize from "canonicalize";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import * as formats from "ajv-formats";
import { fieldPath, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject, JsonValue } from "../../domain/core/json.ts";
import { asDraft2020 } from "./schema-drafts.ts";
import type { CheckedFor } from "../../domain/tools/tool.ts";
import { rulesOf } from "./check-cost.ts";
import { problemsInThread } from "./slow-checks.ts";
import { TimeLimitError, withinMs } from "./time-limit.ts";
import { explainErrors } from "./explain-errors.ts";

/** ms */
const COMPILE_MS = 2_000;
const CHECK_MS = 50;

/** Rules times bytes that the event loop checks itself, in less than 5 ms. */
const QUICK = 400_000;

/** Up to this many values all errors are collected; beyond, only the first. */
const FEW_VALUES = 200;

/** Validates parameters against a JSON Schema of any draft from an external server. */
export class ParameterCheck {
  /** The schema in draft 2020-12. */
  readonly schema: JsonObject;
  /** Stops at the first error. */
  readonly #first: ValidateFunction;
  readonly #every: ValidateFunction;
  readonly #given: string;
  readonly #rules: number;

  /** @throws Error if the schema is invalid */
  constructor(schema: JsonObject) {
    this.schema = asDraft2020(schema);
    this.#given = JSON.stringify(schema);
    this.#rules = rulesOf(this.schema);
    this.#first = compiled(this.schema, false);
    this.#every = compiled(this.schema, true);
  }

  /** @param text the parameters as JSON @throws ToolgateError INVALID_REQUEST with one sentence per field */
  check(params: JsonObject, text = JSON.stringify(params)): void {
    refuse(this.#isQuick(text) ? this.#problems(params) : this.problems(params));
  }

  /** As `check`, in a thread if it could take long. @param by undefined: here */
  checkFor(by: CheckedFor | undefined, params: JsonObject, text: string): Promise<void> | undefined {
    if (by && !this.#isQuick(text))
      return problemsInThread({ schema: this.#given, params: text }, by).then(refuse);
    this.check(params, text);
    return undefined;
  }

  #isQuick(text: string): boolean {
    return this.#rules * text.length <= QUICK;
  }

  /** Returns one sentence per field, or that the time limit was reached. */
  problems(params: JsonObject): string | undefined {
    try {
      return withinMs(CHECK_MS, () => this.#problems(params));
    } catch (error) {
      if (!(error instanceof TimeLimitError)) throw error;
      const path = fieldPath(longest(params));
      return `${path}: cannot be checked in reasonable time; send shorter or fewer values`;
    }
  }

  #problems(params: JsonObject): string | undefined {
    if (this.#first(params)) return undefined;
    const { errors } = this.#first;
    if (!hasFewValues(params)) return explainErrors(errors ?? [], params, this.schema);
    this.#every(params);
    return explainErrors(this.#every.errors ?? [], params, this.schema);
  }
}

function refuse(problems: string | undefined): void {
  if (problems !== undefined) throw new ToolgateError("INVALID_REQUEST", problems);
}

/** Returns the start of the path of the value that most of the parameters consist of. */
function longest(value: JsonValue, levels = 3): (string | number)[] {
  const size = (one: JsonValue) => JSON.stringify(one).length;
  if (typeof value !== "object" || value === null || levels === 0) return [];
  const members: [string | number, JsonValue][] = Array.isArray(value)
    ? value.map((item, index) => [index, item])
    : Object.entries(value);
  const half = size(value) / 2;
  const found = members.find(([, member]) => size(member) > half);
  return found ? [found[0], ...longest(found[1], levels - 1)] : [];
}

function compiled(schema: JsonObject, allErrors: boolean): ValidateFunction {
  return withinMs(COMPILE_MS, () => {
    const ajv = new Ajv2020({
      // External schemas use unknown keywords and formats.
      strict: false,
      logger: false,
      allErrors,
      verbose: true,
      // Ignores inherited members such as toString.
      ownProperties: true,
      // Inlining frequent references would inflate the generated code.
      inlineRefs: false,
      code: { regExp: lenientRegExp },
    });
    formats.default.default(ajv);
    ajv.removeKeyword("uniqueItems");
    ajv.addKeyword({ ...UNIQUE_ITEMS, validate: hasUniqueItems });
    return ajv.compile(schema);
  });
}

/** The library compares each item with every other one, which takes seconds for a few thousand. */
const UNIQUE_ITEMS = { keyword: "uniqueItems", type: "array", schemaType: "boolean" } as const;

function hasUniqueItems(wanted: boolean, items: readonly JsonValue[]): boolean {
  return !wanted || new Set(items.map((item) => canonicalize(item))).size === items.length;
}

function hasFewValues(params: JsonObject): boolean {
  const waiting: unknown[] = [params];
  let seen = 0;
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== "object" || value === null) continue;
    // Object.values only runs for objects, since an array has its length.
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    seen += inner.length;
    if (seen > FEW_VALUES) return false;
    waiting.push(...inner);
  }
  return true;
}

/** Patterns are ECMA-262 with Unicode (JSON Schema 2020-12, 6.4); without, for superfluous escapes. */
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
