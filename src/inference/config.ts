import { z } from "zod";
import { parseTokenRate, SERVER_APIS } from "../domain/tools/chat.ts";

/** Defaults in ms. Reasoning models pause for minutes, and an abandoned response is billed all the same. */
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_PIECE_TIMEOUT_MS = 300_000;

/** Bytes of a request with images. */
export const DEFAULT_BODY_BYTES = 20 * 1024 * 1024;

export const KINDS = ["openai", "vllm", "ollama", "openrouter"] as const;

const OWN_HEADERS = new Set(
  (
    "accept accept-encoding connection content-encoding content-length content-type expect host " +
    "idempotency-key keep-alive te trailer transfer-encoding upgrade"
  ).split(" "),
);

/** RFC 9110, 5.1. */
const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]{1,64}$/, "must be the name of an HTTP header")
  .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), "is set by the gateway itself, leave it out");

/** USD per million tokens as a JSON number or string. Parsed digit by digit to stay exact. */
const usdPerMillion = z.union([z.string(), z.number()]).transform((value, context) => {
  const rate = parseTokenRate(String(value));
  if (rate !== undefined) return rate;
  context.addIssue(
    'must be USD per million tokens as a decimal such as 0.2 or "0.2", with at most 9 decimal places ' +
      "and no exponent",
  );
  return z.NEVER;
});

/** Part of errors, logs and the tool's description: no line breaks or invisible characters. */
export const modelName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, "must be of visible characters and spaces");

const offer = {
  input_usd_per_million: usdPerMillion,
  output_usd_per_million: usdPerMillion,
  /** Of prompt tokens in the server's cache. Default: as all of the prompt. */
  cached_input_usd_per_million: usdPerMillion.optional(),
  /** Of prompt tokens that the server writes to its cache. Default: as all of the prompt. */
  cache_write_usd_per_million: usdPerMillion.optional(),
  /** Of those that it keeps for an hour. Default: as the others. */
  cache_write_1h_usd_per_million: usdPerMillion.optional(),
  /** Of reasoning tokens. Default: as all of the answer. */
  reasoning_usd_per_million: usdPerMillion.optional(),
  context_length: z.int().min(1).max(100_000_000),
  max_output_tokens: z.int().min(1).max(100_000_000),
  bytes_per_token: z.int().min(1).max(8).prefault(1),
  /** Most tokens that an image takes. Default: the model takes no images. */
  image_tokens: z.int().min(1).max(1_000_000).optional(),
  /** Bytes of a request with images. Default with `image_tokens`: {@link DEFAULT_BODY_BYTES}. */
  max_body_bytes: z.int().min(1_048_576).max(41_943_040).optional(),
};

/** What the server charges the operator. For reports only. Default: unknown. */
const cost = z
  .strictObject({
    input_usd_per_million: usdPerMillion,
    output_usd_per_million: usdPerMillion.prefault("0"),
    /** Default: as all of the prompt. */
    cached_input_usd_per_million: usdPerMillion.optional(),
    cache_write_usd_per_million: usdPerMillion.optional(),
    cache_write_1h_usd_per_million: usdPerMillion.optional(),
    /** Default: as all of the answer. */
    reasoning_usd_per_million: usdPerMillion.optional(),
  })
  .optional();

/** Of all callers of one instance together. Default: none. */
const limits = {
  requests_per_minute: z.int().min(1).max(1_000_000).optional(),
  concurrency: z.int().min(1).max(100_000).optional(),
};

const model = z.strictObject({
  /** The id callers use. */
  id: modelName,
  /** The server's own name of the model. Defaults to `id`. */
  upstream_model: modelName.optional(),
  ...offer,
  ...limits,
  cost,
});

const embeddingModel = z.strictObject({
  id: modelName,
  upstream_model: modelName.optional(),
  input_usd_per_million: usdPerMillion,
  /** Most tokens of one input. */
  context_length: offer.context_length,
  /** Numbers of a vector. */
  dimensions: z.int().min(1).max(65_536),
  bytes_per_token: offer.bytes_per_token,
  ...limits,
  cost,
});

const upstream = z.strictObject({
  name: z.string().min(1).max(64),
  kind: z.enum(KINDS).prefault("openai"),
  /** The API that the server speaks. */
  api: z.enum(SERVER_APIS).prefault("chat"),
  /** The base URL, or the environment variable that holds it. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  base_url_env: z.string().min(1).prefault("INFERENCE_BASE_URL"),
  /** Environment variable with the API key. Keys are never read from the file. Default: {@link pairedKey}. */
  api_key_env: z.string().min(1).optional(),
  /** Extra request headers, each with the environment variable that holds its value. */
  headers_env: z.record(headerName, z.string().min(1)).prefault({}),
  timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_TIMEOUT_MS),
  /** Longest wait between the response headers and the first chunk of a stream, ms. */
  first_piece_timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_PIECE_TIMEOUT_MS),
  /** Longest wait between two chunks of a stream, ms. */
  stall_timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_PIECE_TIMEOUT_MS),
  /** Streams detect a stalled server earlier than whole responses. */
  stream: z.boolean().prefault(true),
  /** The server's name of the token limit parameter. */
  limit_parameter: z.enum(["max_tokens", "max_completion_tokens"]).prefault("max_tokens"),
  /** Share of the calls among upstreams of the same model. 0: only when the others fail. */
  weight: z.int().min(0).max(1_000).prefault(0),
  /** OpenRouter without `models`: markup on its own prices. Default: the prices of `default_model`. */
  markup_percent: z.int().min(0).max(10_000).optional(),
  /** Members of a request of the OpenAI API that the gateway does not know. */
  unknown_members: z.enum(["refuse", "pass"]).prefault("refuse"),
  /** Who fetches what a caller names by URL: the gateway images only, or the server itself. */
  image_urls: z.enum(["fetch", "pass"]).prefault("fetch"),
  /** "public" also blocks private networks. Link-local, multicast and metadata are always blocked. */
  network: z.enum(["any", "public"]).prefault("any"),
  /** Default: every model listed under /models, at the prices of `default_model`. */
  models: z.array(model).min(1).optional(),
  /** Models of embeddings. They are sold only from this table. */
  embedding_models: z.array(embeddingModel).min(1).optional(),
});

/** A name for one of several models. */
const alias = z.strictObject({
  id: modelName,
  models: z.array(modelName).min(1).max(8),
  /** The first of the models that works, or the one with the lowest quote. */
  by: z.enum(["order", "price"]).prefault("order"),
});

/** The `inference` section of the configuration file. */
export const inferenceSchema = z
  .strictObject({
    /** Default: the server at INFERENCE_BASE_URL, if set. */
    upstreams: z.array(upstream).min(1).max(64).optional(),
    aliases: z.array(alias).max(64).prefault([]),
    /** How often the model lists are refreshed. */
    refresh_seconds: z.int().min(10).max(86_400).prefault(600),
    /** Terms of models that no table lists. */
    default_model: z
      .strictObject({
        ...offer,
        input_usd_per_million: usdPerMillion.prefault("0.50"),
        output_usd_per_million: usdPerMillion.prefault("1.50"),
        context_length: offer.context_length.prefault(8_192),
        max_output_tokens: offer.max_output_tokens.prefault(1_024),
      })
      .prefault({}),
  })
  .prefault({});

export type InferenceSection = z.output<typeof inferenceSchema>;

export type CostSection = z.output<typeof cost>;

export type EmbeddingModelSection = z.output<typeof embeddingModel>;

export type UpstreamSection = z.output<typeof upstream>;

/** Returns the variable of a model server's key beside that of its address; undefined for other names. */
export function keyBeside(addressVariable: string): string | undefined {
  const match = /^(INFERENCE_(?:[A-Z0-9_]+_)?)BASE_URL$/.exec(addressVariable);
  return match ? `${match[1]}API_KEY` : undefined;
}

/** Returns the variable whose key goes to this upstream alone, because its address comes from beside it. */
export function pairedKey({ base_url, base_url_env }: UpstreamSection): string | undefined {
  return base_url === undefined ? keyBeside(base_url_env) : undefined;
}

/** Undefined: the server needs no key. */
export function keyVariableOf(entry: UpstreamSection): string | undefined {
  return entry.api_key_env ?? pairedKey(entry);
}

/** Returns the upstream used when only INFERENCE_BASE_URL is set. */
export function defaultUpstream(): UpstreamSection {
  return upstream.parse({ name: "default" });
}
