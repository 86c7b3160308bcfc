import type { LookupFunction } from "node:net";
import OpenAI from "openai";
import type { ChatCompletion, ChatOptions, ChatRequest } from "../domain/chat.ts";
import { ResponseTooLongError, openGuardedFetch, type OpenFetch } from "../outbound/guarded-fetch.ts";
import { Completion } from "./completion.ts";
import { listModels, type ListedModel } from "./listed-models.ts";
import { RequestTimer } from "./request-timer.ts";
import { readResponse } from "./read-response.ts";
import { unusable, upstreamFailure, type RequestState } from "./upstream-failure.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** Longest answer that is read, bytes: in a stream a few characters of text come with some two hundred around them. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Longest that a list of models may take, ms. */
const LIST_MS = 15_000;

/** How long a server that is done may take to end its answer, so that the connection can be used again, ms. */
const DRAIN_MS = 1_000;

/** Shorter values of secrets stand for none ("none", "EMPTY", "ollama"), and would be found in honest answers. */
const MIN_SECRET_LENGTH = 16;

/** As long as a timer can run: the client's own time limit covers neither bodies nor pauses, so another one counts. */
const NO_LIMIT_MS = 2_147_483_647;

/** What a request says of itself. */
const REQUEST_HEADERS = ["accept", "authorization", "content-type", "idempotency-key", "user-agent"];

/** The headers of a request without those that describe this machine or that the client takes from the environment (OPENAI_CUSTOM_HEADERS). */
function ownHeaders(all: RequestInit["headers"], configured: UpstreamSettings["headers"]): Headers {
  const own = new Set([...REQUEST_HEADERS, ...Object.keys(lowerCased(configured))]);
  return new Headers([...new Headers(all)].filter(([name]) => own.has(name)));
}

function lowerCased(headers: UpstreamSettings["headers"]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** One OpenAI-compatible server. Nothing is sent to it twice: whether a lost answer was already computed cannot be known. */
export class Upstream {
  readonly #settings: UpstreamSettings;
  readonly #client: OpenAI;
  readonly #connections: OpenFetch;
  readonly #secrets: readonly string[];

  /** @param lookup finds the addresses of a name; the system's resolver when left out */
  constructor(settings: UpstreamSettings, lookup?: LookupFunction) {
    this.#settings = settings;
    this.#secrets = [settings.apiKey ?? "", ...Object.values(settings.headers)]
      .filter((secret) => secret.length >= MIN_SECRET_LENGTH)
      .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")]);
    this.#connections = openGuardedFetch({
      network: settings.network,
      maxBytes: MAX_ANSWER_BYTES,
      ...(lookup && { lookup }),
    });
    // The client insists on a key; servers without keys ignore this one.
    const apiKey = settings.apiKey ?? "none";
    this.#client = new OpenAI({
      baseURL: settings.baseUrl,
      apiKey,
      // Named so that the client takes none of them from the environment; it would send an administrator's key in place of the other.
      adminAPIKey: null,
      organization: null,
      project: null,
      timeout: NO_LIMIT_MS,
      maxRetries: 0,
      logLevel: "off",
      fetch: (input, init) =>
        this.#connections.fetch(input, { ...init, headers: ownHeaders(init?.headers, settings.headers) }),
      // A header that is configured is in place of the key's.
      defaultHeaders: new Headers({ authorization: `Bearer ${apiKey}`, ...lowerCased(settings.headers) }),
    });
  }

  /**
   * What this server lists.
   * @throws ModelServerError when it does not answer, or not with a list
   */
  async list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const timeoutMs = Math.min(this.#settings.timeoutMs, LIST_MS);
    const patience = new RequestTimer(signal, {
      timeoutMs,
      firstPieceTimeoutMs: timeoutMs,
      stallTimeoutMs: timeoutMs,
    });
    const options = { signal: patience.signal };
    try {
      const listed = await listModels(this.#settings.kind, {
        get: (path) => this.#client.get(this.#urlOf(path), options),
        post: (path, body) => this.#client.post(this.#urlOf(path), { ...options, body }),
      });
      return listed.filter(({ id }) => !this.#holdsSecret(id));
    } catch (error) {
      throw upstreamFailure(error, patience.state);
    } finally {
      patience.stop();
    }
  }

  /**
   * Completes a conversation (POST /chat/completions of the OpenAI API).
   * @param request its model by the server's own name
   * @param alive told when the first piece of a streamed answer is there
   * @throws ModelServerError TOOL_FAILED, or UNAVAILABLE when the server asks for patience (429, 503)
   */
  async complete(
    request: ChatRequest,
    { signal, idempotencyKey, onChunk }: ChatOptions,
    alive = () => {},
  ): Promise<ChatCompletion> {
    const patience = new RequestTimer(signal, this.#settings, alive);
    const received = new Completion();
    let cutBy: string | null;
    try {
      const response = await this.#client
        .post("/chat/completions", {
          body: this.#bodyOf(request),
          headers: idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey },
          signal: patience.signal,
        })
        .asResponse();
      cutBy = await readResponse(response, received, patience, onChunk);
      void drain(response, patience);
    } catch (error) {
      patience.abort();
      cutBy = limitReached(error, patience.state);
      // The server has worked and bills for it: what came before the limit is delivered.
      if (cutBy === null || !received.delivers) throw upstreamFailure(error, patience.state);
    }
    const completion = received.result(cutBy);
    this.#requireDiscretion(completion);
    return completion;
  }

  /** Ends its connections. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  #urlOf(path: string): string {
    return new URL(path, `${this.#settings.baseUrl}/`).href;
  }

  #bodyOf({ model, messages, maxTokens, temperature }: ChatRequest): object {
    const { stream, limitParameter } = this.#settings;
    return {
      model,
      messages,
      [limitParameter]: maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      stream,
      ...(stream && { stream_options: { include_usage: true } }),
    };
  }

  #holdsSecret(text: string): boolean {
    return this.#secrets.some((secret) => text.includes(secret));
  }

  /** Withholds an answer that repeats the operator's key, also where it was cut in the middle of it. */
  #requireDiscretion({ content, finishReason }: ChatCompletion): void {
    if (
      this.#secrets.some((secret) => endsInsideSecret(content, secret)) ||
      this.#holdsSecret(content) ||
      this.#holdsSecret(finishReason ?? "")
    )
      throw unusable("the model server's answer holds what callers must not see", undefined, {
        verdict: "unknown",
      });
  }
}

/** Whether a text ends in the middle of a secret. */
function endsInsideSecret(text: string, secret: string): boolean {
  const end = text.slice(-secret.length);
  for (let length = MIN_SECRET_LENGTH; length < secret.length; length++)
    if (end.endsWith(secret.slice(0, length))) return true;
  return false;
}

/** Why an answer ended that a limit of ours ended; null: something else did. */
function limitReached(error: unknown, { stopped, late, stalled }: RequestState): string | null {
  if (stopped) return null;
  if (late || stalled) return "timeout";
  return causedByLength(error) ? "length" : null;
}

function causedByLength(error: unknown): boolean {
  return error instanceof Error && (error instanceof ResponseTooLongError || causedByLength(error.cause));
}

/** Reads what is left of an answer, so that its connection can be used again; for a moment, then it is closed. */
async function drain(response: Response, patience: RequestTimer): Promise<void> {
  patience.stop();
  const end = setTimeout(() => patience.abort(), DRAIN_MS);
  try {
    await response.body?.pipeTo(new WritableStream());
  } catch {
    // It is closed, which is all that was left to do.
    patience.abort();
  } finally {
    clearTimeout(end);
  }
}
