import type { JsonObject, JsonValue } from "../../domain/core/json.ts";
import type { Log } from "../../domain/core/log.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { BackendAnswer, BackendDescription } from "./backend.ts";
import type { MeterSection } from "./config.ts";
import type { TokenRate } from "../../domain/tools/chat.ts";

/** Reads the metered value of an answer; undefined if it is missing. */
type Source = (answer: BackendAnswer, params: JsonObject) => unknown;

/** Variables of a meter's expression. */
const VARIABLES = ["result", "headers", "trailers", "meta", "params"];

/** Computes what a call is charged from what its server reports, at most the price of the call. */
export class Meter {
  readonly #section: MeterSection;
  readonly #log: Log;
  #source: Source;

  private constructor(section: MeterSection, source: Source, log: Log) {
    this.#section = section;
    this.#source = source;
    this.#log = log;
  }

  /** Creates a meter; imports CEL only for expressions. @throws Error with a message for the operator */
  static async open(section: MeterSection, log: Log): Promise<Meter> {
    return new Meter(section, await sourceOf(section), log);
  }

  /** Sentence for buyers, about what is charged. */
  get description(): string {
    const { unit, microusd_per_unit: rate } = this.#section;
    return `Charged by use, ${rate.text} micro-USD per ${unit}, at most the price.`;
  }

  /** Resolves the field of a gRPC message. @throws Error for the operator if there is none */
  describe({ fieldPath }: Pick<BackendDescription, "fieldPath">): void {
    const { field } = this.#section;
    if (field === undefined) return;
    const path = fieldPath?.(field) ?? [];
    this.#source = ({ result }) => memberAt(result, path);
  }

  /** Returns the charge of a call; may exceed its price. Logs a missing or absurd value. Never throws. */
  charge(answer: BackendAnswer, params: JsonObject, price: MicroUsd): MicroUsd {
    const { microusd_per_unit: rate, minimum_microusd: minimum, otherwise } = this.#section;
    const units = this.#units(answer, params);
    if (units === undefined) return otherwise === "minimum" ? minimum : price;
    const used = chargeOfUnits(units, rate.value);
    if (used > price)
      this.#log.warn({ used: used.toString(), price: price.toString() }, "metered use exceeds the price");
    return used > minimum ? used : minimum;
  }

  /** In billionths of a unit; undefined if missing or absurd. */
  #units(answer: BackendAnswer, params: JsonObject): bigint | undefined {
    let value: unknown;
    let cause: unknown;
    try {
      value = this.#source(answer, params);
    } catch (error) {
      cause = error;
    }
    const units = unitsOf(value);
    if (units === undefined) {
      const { otherwise } = this.#section;
      this.#log.warn(
        { ...(cause !== undefined && { err: cause }), value: shown(value), charged: otherwise },
        "meter value is missing or absurd",
      );
    }
    return units;
  }
}

async function sourceOf(section: MeterSection): Promise<Source> {
  const { json_pointer: pointer, header, trailer, expression } = section;
  if (pointer !== undefined) {
    const path = pointer.slice(1).split("/").map(unescaped);
    return ({ result }) => memberAt(result, path);
  }
  if (header !== undefined) return ({ headers }) => headers?.[header.toLowerCase()];
  if (trailer !== undefined) return ({ trailers }) => trailers?.[trailer.toLowerCase()];
  if (expression === undefined) return () => undefined;
  const { CelExpression } = await import("./cel-expression.ts");
  const compiled = new CelExpression(expression, VARIABLES);
  return ({ result, headers = {}, trailers = {}, meta = {} }, params) =>
    compiled.valueOf({ result, headers, trailers, meta, params });
}

/** RFC 6901, 4. */
function unescaped(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function memberAt(root: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = new Map(Object.entries(value)).get(name);
  }
  return value;
}

/** For the log. */
function shown(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string") return value.slice(0, 100);
  return typeof value === "number" || typeof value === "bigint" ? value.toString() : typeof value;
}

/** Billionths of a unit. */
const SCALE = 1_000_000_000n;

/** More are absurd. */
const MAX_UNITS = 10n ** 15n;

const DECIMAL = /^ *(\d{1,16})(?:\.(\d{1,18}))? *$/;

/** Returns a value in billionths of a unit; undefined unless a number, or its text, from 0 to 10^15. */
function unitsOf(value: unknown): bigint | undefined {
  const units = exactUnits(value);
  return units !== undefined && units >= 0n && units <= MAX_UNITS * SCALE ? units : undefined;
}

function exactUnits(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value * SCALE;
  // Decimal digits: NaN, infinities, negative numbers and those with an exponent do not match.
  const text = typeof value === "number" ? value.toFixed(9) : value;
  const match = typeof text === "string" ? DECIMAL.exec(text) : null;
  if (!match) return undefined;
  const [, whole = "0", digits = ""] = match;
  const rest = /[1-9]/.test(digits.slice(9)) ? 1n : 0n;
  return BigInt(whole) * SCALE + BigInt(digits.slice(0, 9).padEnd(9, "0")) + rest;
}

/** Returns the charge of metered units, micro-USD, rounded up. */
function chargeOfUnits(units: bigint, microUsdPerUnit: TokenRate): MicroUsd {
  return (units * microUsdPerUnit + SCALE * SCALE - 1n) / (SCALE * SCALE);
}
