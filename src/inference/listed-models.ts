import { APIError } from "openai";
import { z } from "zod";
import type { TokenRate } from "../domain/token-rate.ts";
import { modelName, type KINDS } from "./config.ts";
import { unusable } from "./upstream-failure.ts";

/** What a server says of one of its models, as far as it says it. */
export interface ListedModel {
  readonly id: string;
  /** Tokens that prompt and answer may have together. */
  readonly contextLength: number | undefined;
  /** What it cannot be more than, where only the server's own settings know what it is. */
  readonly contextLimit?: number;
  readonly maxOutputTokens: number | undefined;
  /** What the server itself asks; "unknown": more than can be told from the tokens. Undefined: it names no prices. */
  readonly cost: { readonly inputRate: TokenRate; readonly outputRate: TokenRate } | "unknown" | undefined;
}

/** The requests that a list takes; each is answered with JSON. Paths are relative to where `models` is. */
export interface ListRequests {
  get(path: string): PromiseLike<unknown>;
  post(path: string, body: object): PromiseLike<unknown>;
}

/** Models of one server that are looked at. */
const MAX_MODELS = 2_000;
/** Models of an Ollama server, each of which takes a request of its own. */
const MAX_OLLAMA_MODELS = 200;

/** A number of tokens; undefined for anything else. */
const length = z.int().min(2).max(100_000_000).nullish().catch(undefined);
const decimal = z.string().max(64).nullish().catch("?");

const entry = z.object({
  id: modelName,
  /** vLLM, and several that follow it. */
  max_model_len: length,
  /** OpenRouter. */
  context_length: length,
  top_provider: z
    .object({ context_length: length, max_completion_tokens: length })
    .nullish()
    .catch(undefined),
  pricing: z.object({ prompt: decimal, completion: decimal, request: decimal }).nullish().catch(undefined),
  architecture: z
    .object({ output_modalities: z.array(z.string()) })
    .nullish()
    .catch(undefined),
});
const listBody = z.object({ data: z.array(z.unknown()) });

const showBody = z.object({
  model_info: z.record(z.string(), z.unknown()).nullish(),
  parameters: z.string().nullish(),
  capabilities: z.array(z.string()).nullish(),
});

/**
 * What a server of a kind lists under `/models`. Entries that cannot be read are left out.
 * @throws ModelServerError when it is no list
 */
export async function listModels(kind: (typeof KINDS)[number], ask: ListRequests): Promise<ListedModel[]> {
  const list = listBody.safeParse(await ask.get("models"));
  if (!list.success) throw unusable("the model server's answer could not be read", list.error);
  const entries = list.data.data.slice(0, MAX_MODELS).flatMap((one) => entry.safeParse(one).data ?? []);
  if (kind === "openrouter") return entries.filter(writesText).map(ofOpenRouter);
  const plain = entries.map((one) => ({
    id: one.id,
    contextLength: one.max_model_len ?? one.context_length ?? undefined,
    maxOutputTokens: undefined,
    cost: undefined,
  }));
  return kind === "ollama" ? withContextLengths(plain.slice(0, MAX_OLLAMA_MODELS), ask) : plain;
}

type Entry = z.output<typeof entry>;

function writesText({ architecture }: Entry): boolean {
  return architecture?.output_modalities.includes("text") ?? true;
}

/** The least that any provider behind it is known to take. */
function ofOpenRouter({ id, context_length, top_provider, pricing }: Entry): ListedModel {
  const lengths = [context_length, top_provider?.context_length].filter((one) => typeof one === "number");
  return {
    id,
    contextLength: lengths.length === 0 ? undefined : Math.min(...lengths),
    maxOutputTokens: top_provider?.max_completion_tokens ?? undefined,
    cost: pricing ? costOf(pricing) : undefined,
  };
}

/** Prices in USD per token. A fee per request, or a price that is told only afterwards ("-1"), cannot be charged by tokens. */
function costOf({ prompt, completion, request }: NonNullable<Entry["pricing"]>): ListedModel["cost"] {
  const inputRate = ratePerToken(prompt);
  const outputRate = ratePerToken(completion);
  const fee = request ? ratePerToken(request) : 0n;
  return inputRate === undefined || outputRate === undefined || fee !== 0n
    ? "unknown"
    : { inputRate, outputRate };
}

/** USD per token, a decimal, as a rate: billionths of a micro-USD per token, rounded up. */
function ratePerToken(usd: string | null | undefined): TokenRate | undefined {
  const [, whole, digits = ""] = /^(\d{1,3})(?:\.(\d{1,40}))?$/.exec(usd ?? "") ?? [];
  if (whole === undefined) return undefined;
  const rest = /[1-9]/.test(digits.slice(15)) ? 1n : 0n;
  return BigInt(whole + digits.slice(0, 15).padEnd(15, "0")) + rest;
}

/**
 * Ollama tells a model's limits under `/api/show`, beside `/v1`. What counts is the context that it loads the model with: `num_ctx` where
 * the model sets it. Else only the server's settings know, and the model's own limit is no more than an upper bound.
 */
async function withContextLengths(models: readonly ListedModel[], ask: ListRequests): Promise<ListedModel[]> {
  const known: ListedModel[] = [];
  for (const model of models) {
    const { data } = showBody.safeParse(
      await responseUnlessRefused(ask.post("../api/show", { model: model.id })),
    );
    if (data?.capabilities && !data.capabilities.includes("completion")) continue;
    const loaded = /^num_ctx\s+(\d{1,9})$/m.exec(data?.parameters ?? "")?.[1];
    const own = Object.entries(data?.model_info ?? {}).find(([name]) =>
      name.endsWith(".context_length"),
    )?.[1];
    const limit = length.parse(own);
    known.push({
      ...model,
      contextLength: loaded === undefined ? undefined : Math.max(Number(loaded), 2),
      ...(typeof limit === "number" && { contextLimit: limit }),
    });
  }
  return known;
}

/** An answer; undefined where the server refuses one, which is no reason to go without the others. */
async function responseUnlessRefused(answer: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof APIError && error.status !== undefined) return undefined;
    throw error;
  }
}
