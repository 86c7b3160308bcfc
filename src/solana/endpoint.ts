import type { Clock } from "../domain/clock.ts";
import type { JsonValue } from "../domain/json.ts";
import { CircuitBreaker } from "../domain/circuit-breaker.ts";
import type { EndpointUrl } from "./endpoint-url.ts";
import { openResponse } from "./json-rpc.ts";
import type { Log } from "./log.ts";
import { readBody, retryAfterMs } from "./response-body.ts";
import { malformation, RpcError, RpcFailure } from "./rpc-failure.ts";

/** One JSON-RPC request and how to read its result. */
export interface RpcRequest<Result> {
  readonly method: string;
  readonly params: readonly JsonValue[];
  /** Parses the result; throws ZodError or MalformedAnswer when it cannot be what the method answers. */
  readonly read: (result: unknown) => Result;
  /** Longest answer, bytes; 4 MiB when left out. */
  readonly longestAnswer?: number;
  readonly signal: AbortSignal;
}

/** What endpoints need. */
export interface EndpointOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Longest time for one attempt, ms. */
  readonly attemptMs: number;
}

const RATE_LIMIT_PAUSE_MS = 1_000;
/** A kept-alive connection that the server closed just as the request was written. */
const CONNECTION_CLOSED = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** One Solana RPC address, behind its own circuit breaker. Connections are kept alive by fetch. */
export class Endpoint {
  /** Host and port: its name in errors and logs. */
  readonly host: string;
  readonly #url: EndpointUrl;
  readonly #options: EndpointOptions;
  readonly #breaker: CircuitBreaker;
  readonly #headers: Record<string, string>;
  #lastId = 0;

  constructor(url: EndpointUrl, options: EndpointOptions) {
    this.host = url.host;
    this.#url = url;
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock);
    // Answers are small: compressing them costs more than it saves.
    this.#headers = { "content-type": "application/json", "accept-encoding": "identity" };
    if (url.authorization !== undefined) this.#headers["authorization"] = url.authorization;
  }

  /** Milliseconds until this endpoint may be asked again; 0: now. */
  get waitMs(): number {
    return this.#breaker.waitMs;
  }

  /**
   * Asks once.
   * @throws RpcFailure when there is no usable answer, RpcError when the answer is a final error, the signal's reason when it aborts
   */
  async ask<Result>(request: RpcRequest<Result>): Promise<Result> {
    request.signal.throwIfAborted();
    if (!this.#breaker.admit()) throw new RpcFailure("circuit_open", this.host, "left alone after failures");
    try {
      const result = await this.#attempt(request);
      this.#report(undefined);
      return result;
    } catch (error) {
      this.#report(error);
      throw error;
    }
  }

  #report(error: unknown): void {
    const { log } = this.#options;
    if (error === undefined || error instanceof RpcError) {
      if (this.#breaker.succeeded()) log.info({ endpoint: this.host }, "Solana RPC endpoint answers again");
    } else if (!(error instanceof RpcFailure)) {
      this.#breaker.abandoned();
    } else if (error.kind === "not_here") {
      this.#breaker.succeeded();
    } else if (error.retryAfterMs !== undefined) {
      this.#breaker.pause(error.retryAfterMs);
      log.warn(
        { endpoint: this.host, pause_ms: error.retryAfterMs },
        `Solana RPC endpoint asks for a pause: ${error.message}`,
      );
    } else if (this.#breaker.failed()) {
      log.warn({ endpoint: this.host, pause_ms: this.waitMs }, `Solana RPC endpoint left alone: ${error.message}`);
    }
  }

  async #attempt<Result>(request: RpcRequest<Result>): Promise<Result> {
    const { signal } = request;
    const attempt = new AbortController();
    const timer = setTimeout(() => attempt.abort(), this.#options.attemptMs);
    const onAbort = () => attempt.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#post(request, attempt.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof RpcFailure || error instanceof RpcError) throw error;
      if (attempt.signal.aborted)
        throw new RpcFailure("timeout", this.host, `no answer within ${this.#options.attemptMs} ms`);
      const problem = malformation(error);
      if (problem !== undefined) throw new RpcFailure("malformed", this.host, `unusable answer: ${problem}`);
      const code = networkCode(error);
      if (code !== undefined) throw new RpcFailure("network", this.host, code);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #post<Result>(request: RpcRequest<Result>, signal: AbortSignal): Promise<Result> {
    this.#lastId += 1;
    const id = this.#lastId;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method: request.method, params: request.params });
    const response = await this.#fetch({ method: "POST", headers: this.#headers, body, signal, redirect: "error" });
    if (response.status !== 200) throw await this.#httpFailure(response);
    return request.read(openResponse(this.host, id, await readBody(response, request.longestAnswer)));
  }

  async #fetch(init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#url.address, init);
    } catch (error) {
      if (!CONNECTION_CLOSED.has(networkCode(error) ?? "")) throw error;
      return fetch(this.#url.address, init);
    }
  }

  async #httpFailure(response: Response): Promise<RpcFailure> {
    await response.body?.cancel();
    const pause = retryAfterMs(response, this.#options.clock.now());
    const problem = `HTTP ${response.status}`;
    if (response.status === 429)
      return new RpcFailure("rate_limited", this.host, problem, pause ?? RATE_LIMIT_PAUSE_MS);
    return new RpcFailure("http", this.host, problem, pause);
  }
}

/** fetch tells network errors as TypeError with the system's error as cause; only its code is told on, since messages can hold addresses. */
function networkCode(error: unknown): string | undefined {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return undefined;
  const { cause } = error;
  return "code" in cause && typeof cause.code === "string" ? cause.code : "network error";
}
