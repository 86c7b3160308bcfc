import document from "#gen/openapi.json" with { type: "json" };
import type { JsonObject } from "../../domain/core/json.ts";
import { X402_NETWORK, X402_SCHEME } from "../../domain/payments/x402.ts";
import { nestedSchema } from "../x402/nested-schema.ts";
import type { SoldTool } from "../x402/sold-tools.ts";
import { priceOf } from "./x402-manifest.ts";

const ROUTE = "/x402/{tool}";
const GENERIC = document.paths[ROUTE].post;
/** Where the generic operation is; the operations of tools refer to its answers. */
const GENERIC_POINTER = "#/paths/~1x402~1{tool}/post";

/** Returns the operations that are sold to wallets, by path: the generic one for each tool. */
export function toolPaths(sold: Iterable<SoldTool>): JsonObject {
  return Object.fromEntries(Array.from(sold, (one) => [one.path, { post: operation(one) }]));
}

function operation({ tool, path, example }: SoldTool): JsonObject {
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
    // Read by x402 indexers.
    "x-payment-info": {
      price: priceOf(tool),
      protocols: [{ x402: { version: 2, scheme: X402_SCHEME, network: X402_NETWORK } }],
    },
  };
}
