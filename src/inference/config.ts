import { z } from "zod";
import { parseTokenRate } from "../domain/token-rate.ts";

/**
 * Longest that one answer may take, and that its first and its next piece may take, unless the upstream says otherwise, ms. Models that
 * reason pause for minutes, and what is given up has been computed and is billed.
 */
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_PIECE_TIMEOUT_MS = 300_000;

/** The kinds of servers, which differ in how they list their models. */
export const KINDS = ["openai", "vllm", "ollama", "openrouter"] as const;

/** Headers that the request itself decides about. */
const OWN_HEADERS = new Set(
  "accept accept-encoding connection content-encoding content-length content-type expect host idempotency-key keep-alive te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

/** A header's name (RFC 9110, 5.1) that an operator may set. */
const headerName = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]{1,64}$/, "must be the name of an HTTP header")
  .refine((name) => !OWN_HEADERS.has(name.toLowerCase()), "is set by the gateway itself, leave it out");

/** USD per million tokens: a decimal, as JSON number or as string, read digit by digit. */
const usdPerMillion = z.union([z.string(), z.number()]).transform((value, context) => {
  const rate = parseTokenRate(String(value));
  if (rate !== undefined) return rate;
  context.addIssue(
    'must be USD per million tokens as a decimal such as 0.2 or "0.2", with at most 9 decimal places and no exponent',
  );
  return z.NEVER;
});

/**
 * What a model is called. It stands in errors, in the log and in the tool's description, where each model has a line: what would begin
 * another line, or is not seen, is no name. Nor is half a surrogate pair, which has no UTF-8 form.
 */
export const modelName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, "must be of visible characters and spaces");

/** What a model costs and takes. */
const offer = {
  input_usd_per_million: usdPerMillion,
  output_usd_per_million: usdPerMillion,
  context_length: z.int().min(1).max(100_000_000),
  max_output_tokens: z.int().min(1).max(100_000_000),
  bytes_per_token: z.int().min(1).max(8).prefault(1),
};

const model = z.strictObject({
  /** The name that it is sold by. */
  id: modelName,
  /** Its name at the server; the same when left out. */
  upstream_model: modelName.optional(),
  ...offer,
});

const upstream = z.strictObject({
  name: z.string().min(1).max(64),
  kind: z.enum(KINDS).prefault("openai"),
  /** The address itself, or the environment variable that holds it. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  base_url_env: z.string().min(1).prefault("INFERENCE_BASE_URL"),
  /** The key is only ever read from the environment. */
  api_key_env: z.string().min(1).prefault("INFERENCE_API_KEY"),
  /** More headers of every request: the environment variable that holds each one's value. */
  headers_env: z.record(headerName, z.string().min(1)).prefault({}),
  timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_TIMEOUT_MS),
  /** Longest pause between the beginning of a streamed answer, its headers, and its first piece. */
  first_piece_timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_PIECE_TIMEOUT_MS),
  /** Longest pause within a streamed answer. */
  stall_timeout_ms: z.int().min(1).max(3_600_000).prefault(DEFAULT_PIECE_TIMEOUT_MS),
  /** Whether answers are asked for in pieces, so that a server that has stopped is noticed. */
  stream: z.boolean().prefault(true),
  /** What the server calls the most tokens of an answer. */
  limit_parameter: z.enum(["max_tokens", "max_completion_tokens"]).prefault("max_tokens"),
  /** Its share of the calls for a model that several serve, relative to the others; 0: only when those cannot. */
  weight: z.int().min(0).max(1_000).prefault(0),
  /** OpenRouter without a table: its models are sold at its own prices and so much more; left out: at the price of `default_model`. */
  markup_percent: z.int().min(0).max(10_000).optional(),
  /** Where its address may lead; never to link-local, multicast and cloud metadata addresses. "public": to no private network either. */
  network: z.enum(["any", "public"]).prefault("any"),
  /** Left out: whatever the upstream lists under /models, at the price of `default_model`. */
  models: z.array(model).min(1).optional(),
});

/** The `inference` part of the configuration file: whose models are for sale, and at what price. */
export const inferenceSchema = z
  .strictObject({
    /** Left out: the server at INFERENCE_BASE_URL, if that is set. */
    upstreams: z.array(upstream).min(1).max(64).optional(),
    /** How often upstreams without a table are asked again what they sell. */
    refresh_seconds: z.int().min(10).max(86_400).prefault(600),
    /** For the models of upstreams that have no table. */
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

/** The `inference` part as read. */
export type InferenceSection = z.output<typeof inferenceSchema>;

/** One entry of `upstreams` as read. */
export type UpstreamSection = z.output<typeof upstream>;

/** The entry that stands for INFERENCE_BASE_URL alone. */
export function defaultUpstream(): UpstreamSection {
  return upstream.parse({ name: "default" });
}
