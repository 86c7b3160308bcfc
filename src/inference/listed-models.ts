import { z } from "zod";
import type { TokenRate } from "../domain/tools/chat.ts";
import { modelName, type KINDS } from "./config.ts";
import { StatusError } from "./refusal.ts";
import { unusable } from "./upstream-failure.ts";

export interface ListedModel {
  readonly id: string;
  /** Limit for prompt and completion together, tokens. */
  readonly contextLength: number | undefined;
  /** Upper bound, where only the server's own settings hold the actual context length. */
  readonly contextLimit?: number;
  readonly maxOutputTokens: number | undefined;
  /** The server's own prices. "unknown": not computable from token counts. Undefined: no prices published. */
  readonly cost: ListedCost | "unknown" | undefined;
}

export interface ListedCost {
  readonly inputRate: TokenRate;
  readonly outputRate: TokenRate;
  /** Of cached prompt tokens; undefined: {@link inputRate}. */
  readonly cachedInputRate?: TokenRate;
}

/** Returns the JSON of an answer. @param path from the folder of `models`. @param body undefined: GET */
export type ListRequest = (path: string, body?: object) => Promise<unknown>;

const MAX_MODELS = 2_000;
/** Each takes one request. */
const MAX_OLLAMA_MODELS = 200;

/** Undefined for anything but a plausible token count. */
const length = z.int().min(2).max(100_000_000).nullish().catch(undefined);
const decimal = z.string().max(64).nullish().catch("?");

const entry = z.object({
  id: modelName,
  /** vLLM and compatible servers. */
  max_model_len: length,
  context_length: length,
  top_provider: z
    .object({ context_length: length, max_completion_tokens: length })
    .nullish()
    .catch(undefined),
  pricing: z
    .object({ prompt: decimal, completion: decimal, request: decimal, input_cache_read: decimal })
    .nullish()
    .catch(undefined),
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

/** Lists models under `/models`; skips malformed ones. @throws ModelServerError if it is no list */
export async function listModels(kind: (typeof KINDS)[number], ask: ListRequest): Promise<ListedModel[]> {
  const list = listBody.safeParse(await ask("models"));
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

/** Uses the lowest limits among the providers behind OpenRouter. */
function ofOpenRouter({ id, context_length, top_provider, pricing }: Entry): ListedModel {
  const lengths = [context_length, top_provider?.context_length].filter((one) => typeof one === "number");
  return {
    id,
    contextLength: lengths.length === 0 ? undefined : Math.min(...lengths),
    maxOutputTokens: top_provider?.max_completion_tokens ?? undefined,
    cost: pricing ? costOf(pricing) : undefined,
  };
}

/** USD per token. Fees per request, or prices known only afterwards ("-1"), cannot be charged by tokens. */
function costOf({
  prompt,
  completion,
  request,
  input_cache_read: cached,
}: NonNullable<Entry["pricing"]>): ListedModel["cost"] {
  const inputRate = ratePerToken(prompt);
  const outputRate = ratePerToken(completion);
  const fee = request ? ratePerToken(request) : 0n;
  if (inputRate === undefined || outputRate === undefined || fee !== 0n) return "unknown";
  // Providers that discount nothing report 0.
  const cachedInputRate = ratePerToken(cached) || inputRate;
  return cachedInputRate < inputRate ? { inputRate, outputRate, cachedInputRate } : { inputRate, outputRate };
}

/** Converts decimal USD per token to billionths of a micro-USD per token, rounded up. */
function ratePerToken(usd: string | null | undefined): TokenRate | undefined {
  const [, whole, digits = ""] = /^(\d{1,3})(?:\.(\d{1,40}))?$/.exec(usd ?? "") ?? [];
  if (whole === undefined) return undefined;
  const rest = /[1-9]/.test(digits.slice(15)) ? 1n : 0n;
  return BigInt(whole + digits.slice(0, 15).padEnd(15, "0")) + rest;
}

/** Ollama's limits (`/api/show`): loaded is `num_ctx`; the model's own limit is only an upper bound. */
async function withContextLengths(models: readonly ListedModel[], ask: ListRequest): Promise<ListedModel[]> {
  const known: ListedModel[] = [];
  for (const model of models) {
    const { data } = showBody.safeParse(await responseUnlessRefused(ask("../api/show", { model: model.id })));
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

/** Returns undefined if the server refuses; the other models are still listed. */
async function responseUnlessRefused(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}
