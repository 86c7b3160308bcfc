import document from "#gen/openapi.json" with { type: "json" };
import type { SoldTool, SoldTools } from "../x402/sold-tools.ts";
import type { ServedDocument } from "./document-handler.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { X402_NETWORK, X402_SCHEME } from "../../domain/payments/x402.ts";
import { nestedSchema } from "../x402/nested-schema.ts";
import { priceOf } from "./x402-manifest.ts";

export interface OpenApiOptions {
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
  readonly version: string;
  /** Undefined: nothing is sold without an API key. */
  readonly sold: SoldTools | undefined;
}

const NOTHING: ReadonlyMap<string, SoldTool> = new Map();

/** Returns the OpenAPI document with the routes of the OpenAI API and a path for each sold tool. */
export function openApiDocument({ baseUrl, version, sold }: OpenApiOptions): ServedDocument {
  let kept: { readonly byName: ReadonlyMap<string, SoldTool>; readonly text: string } | undefined;
  const textOf = (byName: ReadonlyMap<string, SoldTool>) =>
    JSON.stringify({
      ...document,
      info: { ...document.info, version },
      servers: [{ url: baseUrl() }],
      tags: [...document.tags, OPENAI_TAG],
      paths: { ...document.paths, ...OPENAI_PATHS, ...toolPaths(byName.values()) },
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

/** Returns the operations that are sold to wallets, by path: the generic one for each tool. */
function toolPaths(sold: Iterable<SoldTool>): JsonObject {
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

const OPENAI_ERROR = {
  description: "An error, in the form of the OpenAI API and with the members of ErrorBody",
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          code: { type: "string" },
          message: { type: "string" },
          request_id: { type: "string" },
          error: {
            type: "object",
            properties: { message: { type: "string" }, type: { type: "string" }, code: { type: "string" } },
            required: ["message", "code"],
          },
        },
        required: ["code", "message", "error"],
      },
    },
  },
};
const OBJECT = { type: "object", additionalProperties: true };
const TAGS = ["OpenAI"];

/** Group of the operations. */
const OPENAI_TAG = {
  name: TAGS[0],
  description: "The OpenAI API: chat completions and models. Requires an API key as the bearer token.",
};

/** The operations of the OpenAI API, by path. Their protocol is OpenAI's. */
const OPENAI_PATHS = {
  "/openai/v1/models": {
    get: {
      operationId: "OpenAiModels",
      summary: "Lists the models with their prices",
      tags: TAGS,
      responses: {
        "200": { description: "The models", content: { "application/json": { schema: OBJECT } } },
        "401": { ...OPENAI_ERROR, description: "The API key is missing, unknown, expired or revoked" },
        default: OPENAI_ERROR,
      },
    },
  },
  "/openai/v1/chat/completions": {
    post: {
      operationId: "OpenAiChatCompletions",
      summary: "Answers a conversation, whole or as a stream; charges what was used",
      tags: TAGS,
      parameters: [{ $ref: "#/components/parameters/Idempotency-Key" }],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: {
                model: { type: "string" },
                messages: { type: "array", minItems: 1, items: OBJECT },
                stream: { type: "boolean" },
              },
              required: ["model", "messages"],
              additionalProperties: true,
            },
          },
        },
      },
      responses: {
        "200": {
          description: "The answer; with stream its chunks, of which the last has the charge",
          content: {
            "application/json": { schema: OBJECT },
            "text/event-stream": { schema: { type: "string" } },
          },
        },
        "402": { ...OPENAI_ERROR, description: "The balance does not cover the call; the body has a quote" },
        default: OPENAI_ERROR,
      },
    },
  },
};
