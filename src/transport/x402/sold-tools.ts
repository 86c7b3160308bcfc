import type { Catalogue } from "../../app/calls/catalogue.ts";
import { target } from "../../domain/calls/absent.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { type JsonObject, isJsonObject, type JsonValue } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { ListedTool } from "../../domain/tools/tool.ts";
import { shortBazaars } from "./bazaar.ts";

/** Longest description of a resource in an offer, characters. */
const MAX_DESCRIPTION_LENGTH = 256;
/** Longest tag (x402 extension bazaar). */
const MAX_TAG_LENGTH = 32;

/** A tool that wallets buy without an API key. */
export interface SoldTool {
  readonly tool: ListedTool;
  /** Of its route. */
  readonly path: string;
  /** The beginning of the tool's description. */
  readonly description: string;
  readonly tags: readonly string[];
  /** Parameters of a call. */
  readonly example: JsonObject;
  /** Forms of the extension `bazaar` for its offers, the longest first. */
  readonly bazaars: readonly object[];
}

/** The tools that wallets buy, in the order of the catalogue. Computed again when the catalogue changes. */
export class SoldTools {
  readonly #catalogue: Catalogue;
  #kept:
    | { readonly listed: readonly ListedTool[]; readonly byName: ReadonlyMap<string, SoldTool> }
    | undefined;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  /** Returns the same map until the catalogue changes. */
  byName(): ReadonlyMap<string, SoldTool> {
    const listed = this.#catalogue.listed();
    if (this.#kept?.listed !== listed) {
      const sold = listed.filter(({ status, billable }) => status === "active" && billable);
      this.#kept = { listed, byName: new Map(sold.map((tool) => [tool.name, soldTool(tool)])) };
    }
    return this.#kept.byName;
  }

  /** Returns the price of the tool's example; `undefined` if the example is no valid call. */
  examplePrice({ tool, example }: SoldTool): MicroUsd | "unavailable" | undefined {
    if (tool.fixedPrice !== undefined) return tool.fixedPrice;
    try {
      return this.#catalogue.resolve(tool.name).prepare(example).price;
    } catch (error) {
      if (!(error instanceof ToolgateError)) throw error;
      return error.code === "UNAVAILABLE" ? "unavailable" : undefined;
    }
  }
}

function soldTool(tool: ListedTool): SoldTool {
  const { name, description, inputSchema, fixedPrice, metered } = tool;
  const example = exampleOf(inputSchema);
  return {
    tool,
    path: `/x402/${name}`,
    description: beginning(description),
    tags: [
      name.slice(0, MAX_TAG_LENGTH),
      metered ? "metered" : fixedPrice === undefined ? "priced by parameters" : "fixed price",
      "solana",
      "usdc",
    ],
    example,
    bazaars: shortBazaars(tool, example),
  };
}

function beginning(text: string): string {
  return text.length <= MAX_DESCRIPTION_LENGTH
    ? text
    : `${text.slice(0, MAX_DESCRIPTION_LENGTH - 1).toWellFormed()}…`;
}

/** Nested deeper, a schema refers to itself. */
const MAX_DEPTH = 8;

/** Returns small parameters of a tool: the schema's own example, or else its required members. */
function exampleOf(schema: JsonObject): JsonObject {
  const value = valueOf(schema, schema, 0);
  return isJsonObject(value) ? value : {};
}

function valueOf(schema: JsonValue | undefined, root: JsonObject, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  const { examples, enum: allowed, anyOf, oneOf, allOf, $ref } = schema;
  if (Array.isArray(examples) && examples[0] !== undefined) return examples[0];
  if (schema["default"] !== undefined) return schema["default"];
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(allowed) && allowed[0] !== undefined) return allowed[0];
  if (typeof $ref === "string") return valueOf(target(root, $ref), root, depth + 1);
  for (const choices of [anyOf, oneOf, allOf])
    if (Array.isArray(choices) && choices.length > 0) return valueOf(choices[0], root, depth + 1);
  return ofType(schema, root, depth);
}

function ofType(schema: JsonObject, root: JsonObject, depth: number): JsonValue {
  const { type, minimum, minLength, minItems, items } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return "text".padEnd(typeof minLength === "number" ? minLength : 0, "-");
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return Array.from({ length: typeof minItems === "number" ? Math.min(minItems, MAX_DEPTH) : 0 }, () =>
        valueOf(items, root, depth + 1),
      );
    default:
      return members(schema, root, depth);
  }
}

function members({ properties, required }: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (!isJsonObject(properties) || !Array.isArray(required)) return {};
  const names = required.filter((name) => typeof name === "string");
  return Object.fromEntries(names.map((name) => [name, valueOf(properties[name], root, depth + 1)]));
}
