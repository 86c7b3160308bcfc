import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiFailure, failureOf } from "./api-failure.ts";
import type { ClusterAccess } from "./cluster-access.ts";

/** Time limit of a response, ms. */
const ANSWER_MS = 10_000;

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Backoff, ms, unless the server sends Retry-After. Longer delays are not waited for. */
const PAUSES_MS = [100, 300, 900];
const MAX_BACKOFF_MS = 5_000;

export interface ApiRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Client of the API server. Retries, so all requests must be safe to repeat. */
export class ClusterApi {
  readonly #access: ClusterAccess;
  readonly #closed = new AbortController();

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  get server(): URL {
    return this.#access.server;
  }

  /** Returns the JSON response; retries transient failures. @throws ApiFailure: whether one arrived */
  async json(request: ApiRequest): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(request);
      } catch (error) {
        if (error instanceof ApiFailure) error.retried = attempt > 0;
        const pause = pauseAfter(error, attempt);
        if (pause === undefined || request.signal?.aborted === true) throw error;
        await sleep(pause, undefined, { signal: this.#signalOf(request) });
      }
    }
  }

  /** Streams until the server ends it. @param idleMs longest silence. @throws ApiFailure also if cut */
  async *stream(request: ApiRequest, idleMs: number): AsyncGenerator<Buffer, void> {
    const answer = await this.#send(request);
    const idle = setTimeout(() => answer.destroy(new Error(`silent for ${idleMs} ms`)), idleMs);
    try {
      for await (const chunk of answer) {
        idle.refresh();
        if (Buffer.isBuffer(chunk)) yield chunk;
      }
    } catch (error) {
      throw new ApiFailure("a stream of the cluster's API server was cut", { cause: error });
    } finally {
      clearTimeout(idle);
      answer.destroy();
    }
  }

  close(): void {
    this.#closed.abort();
    this.#access.close();
  }

  async #once(request: ApiRequest): Promise<unknown> {
    const answer = await this.#send(request);
    const text = await textOf(answer);
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new ApiFailure(`${request.method} ${request.path} was not answered with JSON`, { cause: error });
    }
  }

  /** Resolves with a 2xx response before its body. */
  async #send(request: ApiRequest): Promise<IncomingMessage> {
    const { server } = this.#access;
    const url = new URL(server.pathname.replace(/\/$/, "") + request.path, server);
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value);
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const answer = await this.#exchange(url, request, body);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw failureOf(status, await textOf(answer), answer.headers["retry-after"]);
  }

  async #exchange(url: URL, request: ApiRequest, body: Buffer | undefined): Promise<IncomingMessage> {
    const options = await this.#access.requestOptions();
    const headers: http.OutgoingHttpHeaders = {
      ...headersOf(options.headers),
      accept: "application/json",
      "user-agent": "toolgate-sandbox",
    };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      headers["content-length"] = body.length;
    }
    const send = url.protocol === "https:" ? https.request : http.request;
    return new Promise((resolve, reject) => {
      const outgoing = send(url, {
        ...options,
        method: request.method,
        headers,
        signal: this.#signalOf(request),
      });
      const late = setTimeout(
        () => outgoing.destroy(new Error(`no answer within ${ANSWER_MS} ms`)),
        ANSWER_MS,
      );
      outgoing.once("response", (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      outgoing.once("error", (cause) => {
        clearTimeout(late);
        reject(
          new ApiFailure(`the cluster's API server at ${url.host} did not answer: ${cause.message}`, {
            cause,
          }),
        );
      });
      outgoing.end(body);
    });
  }

  #signalOf(request: ApiRequest): AbortSignal {
    if (request.signal === undefined) return this.#closed.signal;
    return AbortSignal.any([request.signal, this.#closed.signal]);
  }
}

function headersOf(headers: unknown): Record<string, string> {
  if (typeof headers !== "object" || headers === null) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const late = setTimeout(() => answer.destroy(new Error(`not complete within ${ANSWER_MS} ms`)), ANSWER_MS);
  try {
    for await (const chunk of answer) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw new Error(`longer than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw new ApiFailure("an answer of the cluster's API server was cut", { cause: error });
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Returns the delay before a retry, ms; undefined if a retry would not help. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  const pause = PAUSES_MS[attempt];
  if (!(error instanceof ApiFailure) || !error.transient || pause === undefined) return undefined;
  if (error.retryAfterSeconds === undefined) return pause * (0.75 + Math.random() / 2);
  const wanted = error.retryAfterSeconds * 1_000;
  return wanted <= MAX_BACKOFF_MS ? wanted : undefined;
}
