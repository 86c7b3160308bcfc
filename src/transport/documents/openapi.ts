import document from "#gen/openapi.json" with { type: "json" };
import type { SoldTool, SoldTools } from "../x402/sold-tools.ts";
import { MODEL_API_PATHS, MODEL_API_TAGS } from "./model-api-paths.ts";
import type { ServedDocument } from "./document-handler.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { SOLANA_CHARGE } from "../../domain/payments/payment-auth.ts";
import { X402_NETWORK, X402_SCHEME } from "../../domain/payments/x402.ts";
import { nestedSchema } from "../x402/nested-schema.ts";
import { priceOf } from "./x402-manifest.ts";

export interface OpenApiOptions {
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
  readonly version: string;
  /** The USDC mint, base58. */
  readonly asset: string;
  /** Undefined: nothing is sold without an API key. */
  readonly sold: SoldTools | undefined;
}

const NOTHING: ReadonlyMap<string, SoldTool> = new Map();

/** Returns the OpenAPI document with the routes of the model APIs and a path for each sold tool. */
export function openApiDocument({ baseUrl, version, asset, sold }: OpenApiOptions): ServedDocument {
  let kept: { readonly byName: ReadonlyMap<string, SoldTool>; readonly text: string } | undefined;
  const textOf = (byName: ReadonlyMap<string, SoldTool>) =>
    JSON.stringify({
      ...document,
      info: { ...document.info, version },
      servers: [{ url: baseUrl() }],
      tags: [...document.tags, ...MODEL_API_TAGS],
      paths: {
        ...paidPaths({ ...document.paths, ...MODEL_API_PATHS }, asset),
        ...toolPaths(byName.values(), asset),
      },
    });
  return {
    path: "/openapi.json",
    mediaType: "application/json",
    maxAgeSeconds: 300,
    text() {
      const byName = sold?.byName() ?? NOTHING;
      if (kept?.byName !== byName) kept = { byName, text: textOf(byName) };
      return kept.text;
    },
  };
}

const ROUTE = "/x402/{tool}";
const GENERIC = document.paths[ROUTE].post;
/** Where the generic operation is; the operations of tools refer to its answers. */
const GENERIC_POINTER = "#/paths/~1x402~1{tool}/post";

/** Operations that buy with an API key. Their price is that of the call. */
const PAID_PATHS = ["/v1/mcp/tools/call", "/mcp", "/openai/v1/chat/completions", "/anthropic/v1/messages"];

/** Adds what a call can be paid with to the operations that buy (draft-payment-discovery). */
function paidPaths(paths: JsonObject, asset: string): JsonObject {
  const paid = PAID_PATHS.map((path): [string, JsonValue] => {
    const item = paths[path];
    if (!isJsonObject(item) || !isJsonObject(item["post"])) throw new Error(`${path} is no operation`);
    return [path, { ...item, post: { ...item["post"], "x-payment-info": { offers: [offer(null, asset)] } } }];
  });
  return { ...paths, ...Object.fromEntries(paid) };
}

/** @param amount micro-USD, decimal; null: depends on the call */
function offer(amount: string | null, currency: string): JsonObject {
  return { ...SOLANA_CHARGE, amount, currency };
}

/** Returns the operations that are sold to wallets, by path: the generic one for each tool. */
function toolPaths(sold: Iterable<SoldTool>, asset: string): JsonObject {
  return Object.fromEntries(Array.from(sold, (one) => [one.path, { post: operation(one, asset) }]));
}

function operation({ tool, path, example }: SoldTool, asset: string): JsonObject {
  const pointer = `#/paths/${path.replaceAll("/", "~1")}/post/requestBody/content/application~1json/schema`;
  const { tags, security, parameters, responses } = GENERIC;
  return {
    operationId: `BuyTool_${tool.name}`,
    summary: `Buys a call of ${tool.name} with x402`,
    description: tool.description,
    tags,
    security,
    parameters: parameters.filter((one) => "$ref" in one),
    requestBody: {
      required: true,
      content: { "application/json": { schema: nestedSchema(tool.inputSchema, pointer), example } },
    },
    responses: Object.fromEntries(
      Object.keys(responses).map((status) => [status, { $ref: `${GENERIC_POINTER}/responses/${status}` }]),
    ),
    // Offers are read by clients of the scheme Payment, the rest by x402 indexers.
    "x-payment-info": {
      offers: [offer(tool.fixedPrice === undefined ? null : String(tool.fixedPrice), asset)],
      price: priceOf(tool),
      protocols: [{ x402: { version: 2, scheme: X402_SCHEME, network: X402_NETWORK } }],
    },
  };
}
