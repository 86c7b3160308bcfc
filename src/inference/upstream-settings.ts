import { isIP } from "node:net";
import type { ChatModel, TokenRates } from "../domain/tools/chat.ts";
import type { ModelCost } from "./model-cost.ts";
import { mayConnect, type Network } from "../outbound/address-guard.ts";
import {
  type CostSection,
  DEFAULT_BODY_BYTES,
  defaultUpstream,
  type EmbeddingModelSection,
  type InferenceSection,
  keyVariableOf,
  type UpstreamSection,
} from "./config.ts";

/** A model with its terms and its name at the server. */
export interface TableModel extends ChatModel {
  readonly upstreamModel: string;
  /** What the server charges the operator; undefined: unknown. */
  readonly cost?: ModelCost | undefined;
}

/** Resolved settings of one OpenAI-compatible server. */
export interface UpstreamSettings {
  readonly name: string;
  readonly kind: UpstreamSection["kind"];
  readonly api: UpstreamSection["api"];
  /** Without the final `/models` or `/chat/completions`, e.g. `https://host/v1`. */
  readonly baseUrl: string;
  /** Undefined: no authentication. */
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly firstPieceTimeoutMs: number;
  readonly stallTimeoutMs: number;
  readonly stream: boolean;
  readonly limitParameter: UpstreamSection["limit_parameter"];
  readonly weight: number;
  /** Undefined: the server's own prices set no price. */
  readonly markupPercent: number | undefined;
  readonly network: Network;
  /** Undefined: whatever the server lists, on the terms of {@link defaults}. */
  readonly models: readonly TableModel[] | undefined;
  readonly embeddingModels: readonly TableModel[];
  readonly defaults: Omit<ChatModel, "id">;
  readonly refreshMs: number;
}

export interface ResolvedUpstreams {
  readonly upstreams: readonly UpstreamSettings[];
  /** Messages for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
}

type Offer = InferenceSection["default_model"];

const MAX_HEADER_LENGTH = 4_096;

/** Merges the `inference` section with the environment. No upstreams and no problems: inference is off. */
export function resolveUpstreams(
  section: InferenceSection,
  env: Readonly<Record<string, string | undefined>>,
): ResolvedUpstreams {
  const entries = section.upstreams ?? (env["INFERENCE_BASE_URL"] ? [defaultUpstream()] : []);
  const upstreams: UpstreamSettings[] = [];
  const problems = offerProblems("inference.default_model", section.default_model);
  entries.forEach((entry, index) => {
    const path = `inference.upstreams[${index}]`;
    entry.models?.forEach((model, at) => problems.push(...offerProblems(`${path}.models[${at}]`, model)));
    problems.push(
      ...markupProblems(path, entry),
      ...keyProblems(path, entry, env),
      ...headerProblems(path, entry, env),
    );
    const baseUrl = baseUrlOf(entry, env);
    if (baseUrl === undefined) {
      problems.push(
        `${path}: has no address; set the environment variable ${entry.base_url_env} to an http(s) ` +
          "URL, or base_url",
      );
      return;
    }
    problems.push(...addressProblems(path, new URL(baseUrl), entry.network));
    upstreams.push({
      name: entry.name,
      kind: entry.kind,
      api: entry.api,
      baseUrl,
      apiKey: env[keyVariableOf(entry) ?? ""] || undefined,
      headers: Object.fromEntries(
        Object.entries(entry.headers_env).map(([name, from]) => [name, env[from] ?? ""]),
      ),
      timeoutMs: entry.timeout_ms,
      firstPieceTimeoutMs: entry.first_piece_timeout_ms,
      stallTimeoutMs: entry.stall_timeout_ms,
      stream: entry.stream,
      limitParameter: entry.limit_parameter,
      weight: entry.weight,
      markupPercent: entry.markup_percent,
      network: entry.network,
      models: entry.models?.map((model) => ({
        id: model.id,
        upstreamModel: model.upstream_model ?? model.id,
        ...termsOf(model, entry),
        ...limitsOf(model),
        cost: model.cost && ratesOf(model.cost),
      })),
      embeddingModels: (entry.embedding_models ?? []).map(embeddingModelOf),
      defaults: termsOf(section.default_model, entry),
      refreshMs: section.refresh_seconds * 1_000,
    });
  });
  return { upstreams, problems: [...problems, ...repeated(entries)] };
}

function baseUrlOf(
  entry: UpstreamSection,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const url = entry.base_url ?? env[entry.base_url_env] ?? "";
  return URL.canParse(url) && /^https?:\/\//i.test(url) ? url.replace(/\/+$/, "") : undefined;
}

/** Checks an address before any DNS lookup. URL parsing has already normalised it. */
function addressProblems(path: string, url: URL, network: Network): string[] {
  const { username, password, hostname, search, hash } = url;
  const problems: string[] = [];
  if (username !== "" || password !== "")
    problems.push(
      `${path}: the URL must not contain a user name or password; put the key into the variable named ` +
        "by api_key_env",
    );
  if (search !== "" || hash !== "")
    problems.push(`${path}: the URL must not have a query or fragment; end it with its path, such as /v1`);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !mayConnect(host, network))
    problems.push(
      `${path}: ${hostname} is not allowed${network === "public" ? " with network: public" : ""}`,
    );
  return problems;
}

function termsOf(
  offer: Offer,
  { api, unknown_members, image_urls }: Pick<UpstreamSection, "api" | "unknown_members" | "image_urls">,
): Omit<ChatModel, "id"> {
  return {
    ...ratesOf(offer),
    contextLength: offer.context_length,
    maxOutputTokens: offer.max_output_tokens,
    bytesPerToken: offer.bytes_per_token,
    ...(offer.image_tokens !== undefined && {
      imageTokens: offer.image_tokens,
      maxBodyBytes: offer.max_body_bytes ?? DEFAULT_BODY_BYTES,
    }),
    ...(api !== "chat" && { api }),
    ...(unknown_members === "pass" && { passesUnknown: true }),
    ...(image_urls === "pass" && { passesUrls: true }),
  };
}

function embeddingModelOf(model: EmbeddingModelSection): TableModel {
  return {
    id: model.id,
    upstreamModel: model.upstream_model ?? model.id,
    inputRate: model.input_usd_per_million,
    outputRate: 0n,
    contextLength: model.context_length,
    maxOutputTokens: 0,
    bytesPerToken: model.bytes_per_token,
    dimensions: model.dimensions,
    ...limitsOf(model),
    cost: model.cost && ratesOf(model.cost),
  };
}

function ratesOf(prices: Offer | NonNullable<CostSection>): TokenRates {
  return {
    inputRate: prices.input_usd_per_million,
    outputRate: prices.output_usd_per_million,
    cachedInputRate: prices.cached_input_usd_per_million,
    cacheWriteRate: prices.cache_write_usd_per_million,
    cacheWriteHourRate: prices.cache_write_1h_usd_per_million,
    reasoningRate: prices.reasoning_usd_per_million,
  };
}

function limitsOf(model: {
  readonly requests_per_minute?: number | undefined;
  readonly concurrency?: number | undefined;
}): Pick<ChatModel, "requestsPerMinute" | "concurrency"> {
  return { requestsPerMinute: model.requests_per_minute, concurrency: model.concurrency };
}

function offerProblems(path: string, offer: Offer): string[] {
  const problems: string[] = [];
  if (offer.max_output_tokens >= offer.context_length)
    problems.push(`${path}.max_output_tokens: must be less than context_length, or no prompt would fit`);
  // The quote is the ceiling, and no quote can know what the server has in its cache.
  if ((offer.cached_input_usd_per_million ?? 0n) > offer.input_usd_per_million)
    problems.push(`${path}.cached_input_usd_per_million: must be at most input_usd_per_million`);
  const { input_usd_per_million: input, cache_write_usd_per_million: write = input } = offer;
  if (write < input)
    problems.push(`${path}.cache_write_usd_per_million: must be at least input_usd_per_million`);
  if ((offer.cache_write_1h_usd_per_million ?? write) < write)
    problems.push(`${path}.cache_write_1h_usd_per_million: must be at least cache_write_usd_per_million`);
  return problems;
}

function markupProblems(path: string, { kind, models, markup_percent }: UpstreamSection): string[] {
  if (markup_percent === undefined || (kind === "openrouter" && models === undefined)) return [];
  return [`${path}.markup_percent: is for kind openrouter without a table of models; leave it out`];
}

/** A key that no header can carry would fail each call and leak into the error. */
function keyProblems(
  path: string,
  entry: UpstreamSection,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const variable = keyVariableOf(entry) ?? "";
  return fitsHeader(env[variable] ?? "")
    ? []
    : [
        `${path}.api_key_env: ${variable} must be printable ASCII of at most ${MAX_HEADER_LENGTH} ` +
          "characters",
      ];
}

function fitsHeader(value: string): boolean {
  return /^[\t\x20-\x7e]*$/.test(value) && value.length <= MAX_HEADER_LENGTH;
}

/** Values are not repeated: they may be secrets. */
function headerProblems(
  path: string,
  { headers_env }: UpstreamSection,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  return Object.entries(headers_env).flatMap(([name, variable]) => {
    const value = env[variable] ?? "";
    const where = `${path}.headers_env[${JSON.stringify(name)}]`;
    if (value === "") return [`${where}: the environment variable ${variable} is not set`];
    return fitsHeader(value)
      ? []
      : [`${where}: ${variable} must be printable ASCII of at most ${MAX_HEADER_LENGTH} characters`];
  });
}

/** Callers name only the model id, so all tables must agree on its price and list it once. */
function repeated(entries: readonly UpstreamSection[]): string[] {
  const first = new Map<string, { path: string; model: Terms }>();
  const problems: string[] = [];
  entries.forEach(({ models = [], embedding_models = [] }, index) => {
    const here = new Map<string, string>();
    const tables: Record<string, readonly (Terms & { id: string })[]> = { models, embedding_models };
    for (const [table, list] of Object.entries(tables)) {
      list.forEach((model, at) => {
        const path = `inference.upstreams[${index}].${table}[${at}]`;
        const twice = here.get(model.id);
        const before = first.get(model.id);
        if (twice !== undefined) problems.push(`${path}.id: ${twice} has the same id; leave one out`);
        else if (before && TERMS.some((name) => before.model[name] !== model[name]))
          problems.push(
            `${path}: must have the prices and the bytes_per_token of ${before.path}, which has the same id`,
          );
        here.set(model.id, path);
        if (!before) first.set(model.id, { path, model });
      });
    }
  });
  return problems;
}

/** What servers of one model must agree on. */
const TERMS = [
  "input_usd_per_million",
  "output_usd_per_million",
  "cached_input_usd_per_million",
  "cache_write_usd_per_million",
  "cache_write_1h_usd_per_million",
  "reasoning_usd_per_million",
  "bytes_per_token",
  "dimensions",
] as const;

type Terms = Readonly<Partial<Record<(typeof TERMS)[number], bigint | number | undefined>>>;
