import type { Catalogue } from "../../app/calls/catalogue.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { ListedTool } from "../../domain/tools/tool.ts";
import { bazaarExtension } from "./bazaar.ts";
import { exampleOf } from "./example.ts";

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
  /** The extension `bazaar` of its offers. */
  readonly bazaar: object;
  /** The same without a schema of the parameters, for offers that become too long. */
  readonly shortBazaar: object;
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
    bazaar: bazaarExtension(tool, example, "short"),
    shortBazaar: bazaarExtension(tool, example, "none"),
  };
}

function beginning(text: string): string {
  return text.length <= MAX_DESCRIPTION_LENGTH
    ? text
    : `${text.slice(0, MAX_DESCRIPTION_LENGTH - 1).toWellFormed()}…`;
}
