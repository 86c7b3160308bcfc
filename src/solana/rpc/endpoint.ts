import type { Metrics } from "../../app/operations/metrics.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { SpanAttributes, Tracer } from "../../domain/core/span.ts";
import type { JsonValue } from "../../domain/core/json.ts";
import { CircuitBreaker } from "../../domain/core/circuit-breaker.ts";
import { type EndpointUrl, HttpPost, type HttpAnswer } from "./http-post.ts";
import { openResponse, malformation, RpcError, RpcFailure } from "./rpc-failure.ts";
import type { Log } from "../../domain/core/log.ts";

/** One JSON-RPC request and how to read its result. */
export interface RpcRequest<Result> {
  readonly method: string;
  readonly params: readonly JsonValue[];
  /** Parses the result; throws ZodError or MalformedAnswer if it is invalid. */
  readonly read: (result: unknown) => Result;
  /** Maximum response size, bytes; default 4 MiB. */
  readonly longestAnswer?: number;
  /**
   * Never retried on a lost keep-alive connection: the caller must learn that the request may have arrived.
   */
  readonly once?: boolean;
  readonly signal: AbortSignal;
}

export interface EndpointOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Pick<Metrics, "count" | "observe"> | undefined;
  /** Step that a request belongs to. */
  readonly tracer?: Pick<Tracer, "current"> | undefined;
  /** Time limit of one attempt, ms. */
  readonly attemptMs: number;
}

const RATE_LIMIT_PAUSE_MS = 1_000;
/** Default maximum response size, bytes; many times the largest transaction. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

/** One Solana RPC address, behind its own circuit breaker. */
export class Endpoint {
  /** Host and port: its name in errors and logs. */
  readonly host: string;
  readonly #post: HttpPost;
  readonly #options: EndpointOptions;
  readonly #breaker: CircuitBreaker;
  readonly #isLastResort: (endpoint: Endpoint) => boolean;
  #lastId = 0;

  /** @param isLastResort whether every endpoint is paused and this one's pause ends first */
  constructor(
    url: EndpointUrl,
    options: EndpointOptions,
    isLastResort: (endpoint: Endpoint) => boolean = () => false,
  ) {
    this.host = url.host;
    this.#post = new HttpPost(url);
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock);
    this.#isLastResort = isLastResort;
  }

  /** Milliseconds until this endpoint may be used again; 0: now. */
  get waitMs(): number {
    return this.#breaker.waitMs;
  }

  get paused(): boolean {
    return this.#breaker.paused;
  }

  /**
   * Sends one request. @throws RpcFailure without a usable response, RpcError for a final error, the signal's
   * reason on abort
   */
  async ask<Result>(request: RpcRequest<Result>): Promise<Result> {
    request.signal.throwIfAborted();
    if (!this.#breaker.allow() && !(this.#isLastResort(this) && this.#breaker.allowEarly()))
      throw new RpcFailure("circuit_open", this.host, "left alone after failures");
    const from = performance.now();
    const span = this.#options.tracer?.current()?.child(request.method, this.#attributes(request), "client");
    try {
      const result = await this.#attempt(request);
      span?.end();
      this.#report(undefined);
      this.#measure(request.method, "ok", from);
      return result;
    } catch (error) {
      span?.end(error instanceof RpcFailure ? error.kind : error);
      this.#report(error);
      if (error instanceof RpcFailure) this.#measure(request.method, error.kind, from);
      else if (error instanceof RpcError) this.#measure(request.method, "error", from);
      throw error;
    }
  }

  /** Semantic conventions, JSON-RPC. Without parameters. */
  #attributes({ method }: Pick<RpcRequest<unknown>, "method">): SpanAttributes {
    const { hostname, port } = new URL(`http://${this.host}`);
    const at = { "server.address": hostname, "server.port": port === "" ? undefined : Number(port) };
    return { "rpc.system.name": "jsonrpc", "rpc.method": method, ...at };
  }

  #measure(method: string, outcome: string, from: number): void {
    const { metrics } = this.#options;
    const endpoint = this.host;
    metrics?.count("toolgate_rpc_requests_total", 1, { endpoint, method, outcome });
    metrics?.observe("toolgate_rpc_duration_seconds", (performance.now() - from) / 1_000, {
      endpoint,
      method,
    });
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
      log.warn(
        { endpoint: this.host, pause_ms: this.waitMs },
        `Solana RPC endpoint left alone: ${error.message}`,
      );
    }
  }

  async #attempt<Result>({
    method,
    params,
    read,
    longestAnswer,
    once = false,
    signal,
  }: RpcRequest<Result>): Promise<Result> {
    this.#lastId += 1;
    const id = this.#lastId;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    try {
      const answer = await this.#post.send({
        body,
        longest: longestAnswer ?? LONGEST_ANSWER,
        timeoutMs: this.#options.attemptMs,
        signal,
        once,
      });
      if (answer.status !== 200) throw this.#httpFailure(answer);
      return read(openResponse(this.host, id, answer.body));
    } catch (error) {
      const problem = malformation(error);
      throw problem === undefined
        ? error
        : new RpcFailure("malformed", this.host, `unusable answer: ${problem}`);
    }
  }

  #httpFailure({ status, retryAfter }: HttpAnswer): RpcFailure {
    const pause = retryAfterMs(retryAfter, this.#options.clock.now());
    const problem = `HTTP ${status}`;
    if (status === 429)
      return new RpcFailure("rate_limited", this.host, problem, pause ?? RATE_LIMIT_PAUSE_MS);
    return new RpcFailure("http", this.host, problem, pause);
  }
}

/** Returns the Retry-After delay, ms (seconds or a date, RFC 9110 section 10.2.3), at most five minutes. */
export function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 300_000) : undefined;
}
