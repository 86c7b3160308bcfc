import type { LookupFunction } from "node:net";
import type {
  ChatCompletion,
  ChatOptions,
  ChatRequest,
  EmbeddingRequest,
  Embeddings,
  PassedRequest,
} from "../domain/tools/chat.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import type { ServerDialect } from "../dialects/dialect.ts";
import { serverDialect } from "../dialects/index.ts";
import { openGuardedFetch, type OpenFetch } from "../outbound/guarded-fetch.ts";
import { ResponseTooLongError, type ServerAnswer } from "../outbound/server-answer.ts";
import { Completion } from "./completion.ts";
import { listModels, type ListedModel } from "./listed-models.ts";
import { DeltaRelay } from "./delta-relay.ts";
import { readEmbeddings, type EmbeddingOptions } from "./embedding-answer.ts";
import { RequestTimer } from "./request-timer.ts";
import { CONNECTION_LOST, readJson, readResponse, type Receiver } from "./read-response.ts";
import { withImages } from "./attached-images.ts";
import { statusError, withoutPlaces } from "./refusal.ts";
import { SecretError, Secrets } from "./secrets.ts";
import { cancelled, upstreamFailure, type ModelServerError, type RequestState } from "./upstream-failure.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** Bytes. A stream adds about 200 bytes of envelope to a few characters of text. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const LIST_MS = 15_000;

const DRAIN_MS = 1_000;

function lowerCased(headers: UpstreamSettings["headers"]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** One server of a model API. Never sends a request twice: a lost response may have been computed. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #dialect: ServerDialect;
  readonly #connections: OpenFetch;
  readonly #secrets: Secrets;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param lookup DNS lookup; defaults to the system's resolver */
  constructor(settings: UpstreamSettings, lookup?: LookupFunction) {
    this.#settings = settings;
    this.#dialect = serverDialect(settings.api);
    this.#secrets = new Secrets([settings.apiKey ?? "", ...Object.values(settings.headers)]);
    this.#connections = openGuardedFetch({
      network: settings.network,
      maxBytes: MAX_ANSWER_BYTES,
      ...(lookup && { lookup }),
    });
    // Configured headers replace those of the API. Servers without authentication ignore the key.
    this.#headers = {
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": "toolgate",
      ...this.#dialect.headers(settings.apiKey ?? "none"),
      ...lowerCased(settings.headers),
    };
  }

  /** Lists the server's models. @throws ModelServerError */
  async list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const timeoutMs = Math.min(this.#settings.timeoutMs, LIST_MS);
    const timer = new RequestTimer(signal, {
      timeoutMs,
      firstPieceTimeoutMs: timeoutMs,
      stallTimeoutMs: timeoutMs,
    });
    try {
      const listed = await listModels(this.#settings.kind, async (path, body) =>
        readJson(await this.#send(path, body, { signal: timer.signal })),
      );
      return listed.filter(({ id }) => !this.#secrets.areIn(id));
    } catch (error) {
      throw upstreamFailure(error, timer.state);
    } finally {
      timer.stop();
    }
  }

  /** Completes a conversation (OpenAI API). @param request in the server's name. @throws ModelServerError */
  async complete(
    request: ChatRequest,
    options: ChatOptions,
    onFirstChunk = () => {},
  ): Promise<ChatCompletion> {
    const { signal, listener, onChunk } = options;
    const ends = listener ? AbortSignal.any([signal, listener.closed]) : signal;
    const timer = new RequestTimer(ends, this.#settings, onFirstChunk);
    const { api } = this.#settings;
    const passed = request.passed?.api === api ? request.passed : undefined;
    const relayed = listener && (passed ? "events" : "deltas");
    const received = new Completion(relayed, options.isUsedUp);
    const reader = this.#dialect.reader();
    const relay = listener && new DeltaRelay(received, listener, this.#secrets);
    const progress = {
      streamStarted: () => timer.streamStarted(),
      chunkReceived: () => timer.chunkReceived(),
      chunkTaken: () => {
        onChunk?.(received.chunks);
        const waiting = relay?.forward();
        return waiting && timer.waitFor(waiting);
      },
    };
    let cutBy: string | null;
    try {
      const body = this.#bodyOf(request, passed);
      const sent = options.attached ? await withImages(body, options.attached) : body;
      const sender = { ...options, headers: passed?.headers, signal: timer.signal };
      const response = await this.#send(this.#dialect.path, sent, sender);
      cutBy = await readResponse(response, { completion: received, reader }, progress);
      // A count is delivered however the answer ended.
      if (cutBy === CONNECTION_LOST) cutBy = endOf(undefined, timer.state, options) ?? cutBy;
      void drain(response, timer, received.full);
    } catch (error) {
      timer.abort();
      cutBy = endOf(error, timer.state, options);
      // The server bills for its work, so what arrived before the end is delivered.
      if (cutBy === null || !received.delivers)
        throw failureOf(error, timer.state, options, (words) => this.#shown(words));
    }
    const completion = this.#completed({ completion: received, reader }, cutBy, passed);
    relay?.finish();
    return completion;
  }

  /** @throws ModelServerError if it has secrets */
  #completed(
    { completion, reader }: Receiver,
    cutBy: string | null,
    passed: PassedRequest | undefined,
  ): ChatCompletion {
    const result = completion.result(cutBy);
    const { content, finishReason, whole, usage } = result;
    const answer = passed && reader.answer();
    this.#secrets.requireNone(content, finishReason ?? "", JSON.stringify([whole, usage, answer]));
    return answer ? { ...result, passed: answer } : result;
  }

  /** Computes embeddings (OpenAI API, POST /embeddings). @throws ModelServerError TOOL_FAILED, UNAVAILABLE */
  async embed(request: EmbeddingRequest, options: EmbeddingOptions): Promise<Embeddings> {
    const timer = new RequestTimer(options.signal, this.#settings);
    const { model, input, dimensions } = request;
    // Four times shorter than numbers; servers that do not know it send numbers.
    const body = { model, input, dimensions, encoding_format: "base64" };
    try {
      const response = await this.#send("embeddings", body, { ...options, signal: timer.signal });
      return await readEmbeddings(response, request);
    } catch (error) {
      timer.abort();
      throw upstreamFailure(error, timer.state, (words) => this.#shown(words));
    } finally {
      timer.stop();
    }
  }

  /** What a caller may read of the server's words. */
  #shown(words: string): string {
    const { baseUrl, apiKey = "", headers } = this.#settings;
    return withoutPlaces(words, [new URL(baseUrl).hostname, apiKey, ...Object.values(headers)]);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  /** @param body undefined: GET. @throws StatusError unless the server answers 2xx */
  async #send(path: string, body: object | undefined, sender: Sender): Promise<ServerAnswer> {
    const { signal, ...about } = sender;
    const answer = await this.#connections.request(new URL(path, `${this.#settings.baseUrl}/`), {
      method: body ? "POST" : "GET",
      headers: { ...this.#headers, ...headersOf(about) },
      body: body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body),
      signal,
    });
    if (answer.status < 200 || answer.status > 299) throw await statusError(answer);
    return answer;
  }

  #bodyOf(request: ChatRequest, passed: PassedRequest | undefined): JsonObject {
    const { stream } = this.#settings;
    return passed
      ? { ...passed.body, model: request.model, stream }
      : this.#dialect.fromChat(this.#chatBody(request));
  }

  #chatBody({ model, messages, maxTokens, temperature, more }: ChatRequest): JsonObject {
    const { stream, limitParameter, kind } = this.#settings;
    // vLLM can count with each chunk: a stream that is cut is then charged by its tokens.
    const counts = { include_usage: true, ...(kind === "vllm" && { continuous_usage_stats: true }) };
    return {
      ...more,
      model,
      messages: messages.filter(isJsonObject),
      [limitParameter]: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      stream,
      ...(stream && { stream_options: counts }),
    };
  }
}

type Sender = Pick<ChatOptions, "signal"> &
  Partial<Pick<ChatOptions, "idempotencyKey" | "span">> & {
    readonly headers?: PassedRequest["headers"] | undefined;
  };

function headersOf({ idempotencyKey, span, headers }: Omit<Sender, "signal">): Record<string, string> {
  return {
    ...headers,
    ...span?.headers,
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
}

/** Returns the finish reason of a cut answer; null if it cannot be delivered. */
function endOf(error: unknown, state: RequestState, { signal, listener }: ChatOptions): string | null {
  if (listener?.closed.aborted && !signal.aborted) return "cancelled";
  if (!state.stopped) {
    if (state.late || state.stalled) return "timeout";
    if (causedByLength(error)) return "length";
  }
  // Its listener has the text already.
  return listener && !(error instanceof SecretError) ? CONNECTION_LOST : null;
}

function failureOf(
  error: unknown,
  state: RequestState,
  { signal, listener }: ChatOptions,
  shown: (words: string) => string,
): ModelServerError {
  return listener?.closed.aborted && !signal.aborted
    ? cancelled(error)
    : upstreamFailure(error, state, shown);
}

function causedByLength(error: unknown): boolean {
  return error instanceof Error && (error instanceof ResponseTooLongError || causedByLength(error.cause));
}

/** Reads the rest of a response so that its connection can be reused, up to a time limit. */
async function drain({ body }: ServerAnswer, timer: RequestTimer, isTooLong: boolean): Promise<void> {
  // Its server would write on at the operator's cost.
  if (isTooLong) return timer.abort();
  timer.stop();
  const end = setTimeout(() => timer.abort(), DRAIN_MS);
  try {
    for await (const _ of body);
  } catch {
    // The connection is closed, so there is nothing left to do.
    timer.abort();
  } finally {
    clearTimeout(end);
  }
}
