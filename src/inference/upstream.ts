import type { LookupFunction } from "node:net";
import OpenAI from "openai";
import { z } from "zod";
import type { ChatCompletion, ChatModel, ChatOptions, ChatRequest } from "../domain/chat.ts";
import { guardedFetch } from "../outbound/guarded-fetch.ts";
import { malformed, upstreamFailure } from "./upstream-failure.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

const tokens = z.int().min(0);

/** As much of a chat completion object as is used. */
const completionBody = z.object({
  choices: z.tuple(
    [z.object({ message: z.object({ content: z.string() }), finish_reason: z.string().nullish() })],
    z.unknown(),
  ),
  usage: z.object({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens }).nullish(),
});

/** As much of a model list as is used; `max_model_len` is what several servers add to the protocol. */
const modelListBody = z.object({
  data: z.array(z.object({ id: z.string().min(1), max_model_len: z.int().min(2).nullish() })),
});

/** Headers with which the client would describe this machine; null keeps them from being sent. */
const UNSENT_HEADERS = Object.fromEntries(
  ["Arch", "Lang", "OS", "Package-Version", "Retry-Count", "Runtime", "Runtime-Version", "Timeout"].map((name) => [
    `X-Stainless-${name}`,
    null,
  ]),
);

/** One OpenAI-compatible server. Nothing is sent twice: whether a lost answer was already computed cannot be known. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #client: OpenAI;

  /** @param lookup finds the addresses of a name; the system's resolver when left out */
  constructor(settings: UpstreamSettings, lookup?: LookupFunction) {
    this.#settings = settings;
    this.#client = new OpenAI({
      baseURL: settings.baseUrl,
      // The client insists on a key; servers without keys ignore this one.
      apiKey: settings.apiKey ?? "none",
      // Named so that the client takes neither from the environment.
      organization: null,
      project: null,
      timeout: settings.timeoutMs,
      maxRetries: 0,
      logLevel: "off",
      fetch: guardedFetch({ network: settings.network, ...(lookup && { lookup }) }),
      defaultHeaders: UNSENT_HEADERS,
    });
  }

  /** For logs and for operators. */
  get name(): string {
    return this.#settings.name;
  }

  /**
   * What this server sells: its table, or what it lists.
   * @throws ToolgateError TOOL_FAILED or UNAVAILABLE when it is to be asked and does not answer
   */
  async offers(signal: AbortSignal): Promise<readonly ChatModel[]> {
    const { models, defaults } = this.#settings;
    if (models) return models;
    const listed = await this.#ask(signal, (options) => this.#client.get("/models", options), modelListBody);
    return listed.data.map(({ id, max_model_len }) => {
      const contextLength = max_model_len ?? defaults.contextLength;
      return { ...defaults, id, contextLength, maxOutputTokens: Math.min(defaults.maxOutputTokens, contextLength - 1) };
    });
  }

  /**
   * Completes a conversation (POST /chat/completions of the OpenAI API).
   * @throws ToolgateError TOOL_FAILED, or UNAVAILABLE when the server asks for patience (429, 503)
   */
  async complete(request: ChatRequest, { signal, runId }: ChatOptions): Promise<ChatCompletion> {
    const { model, messages, maxTokens, temperature } = request;
    const body = {
      model,
      messages,
      max_tokens: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      stream: false,
    };
    const headers = runId === undefined ? {} : { "Idempotency-Key": runId };
    const answer = await this.#ask(
      signal,
      (options) => this.#client.post("/chat/completions", { ...options, body, headers }),
      completionBody,
    );
    const [{ message, finish_reason }] = answer.choices;
    return {
      content: message.content,
      finishReason: finish_reason ?? null,
      usage: answer.usage
        ? {
            promptTokens: answer.usage.prompt_tokens,
            completionTokens: answer.usage.completion_tokens,
            totalTokens: answer.usage.total_tokens,
          }
        : null,
    };
  }

  async #ask<Body>(
    signal: AbortSignal,
    send: (options: { signal: AbortSignal }) => PromiseLike<unknown>,
    schema: z.ZodType<Body>,
  ): Promise<Body> {
    // The client's own timeout does not cover the body of an error response; one that trickles needs this.
    const deadline = AbortSignal.timeout(this.#settings.timeoutMs);
    let body: unknown;
    try {
      body = await send({ signal: AbortSignal.any([signal, deadline]) });
    } catch (error) {
      throw upstreamFailure(error, {
        stopped: signal.aborted,
        late: deadline.aborted,
        timeoutMs: this.#settings.timeoutMs,
      });
    }
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw malformed(parsed.error);
    return parsed.data;
  }
}
