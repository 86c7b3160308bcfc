import { AccountBreaker } from "../domain/core/circuit-breaker.ts";
import type {
  ChatCompletion,
  ChatOptions,
  ChatRequest,
  EmbeddingRequest,
  Embeddings,
} from "../domain/tools/chat.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { Clock } from "../domain/core/clock.ts";
import { withFields, type Log } from "../domain/core/log.ts";
import { CONNECTION_LOST } from "./read-response.ts";
import { offersOf } from "./model-routes.ts";
import type { EmbeddingOptions } from "./embedding-answer.ts";
import { busy, ModelServerError } from "./upstream-failure.ts";
import type { TableModel, UpstreamSettings } from "./upstream-settings.ts";
import { Upstream } from "./upstream.ts";
import { Lru } from "../domain/core/lru.ts";

const NO_ACCOUNT = "";

/** An upstream with its circuit breaker, backoff and model list. */
export class ModelServer {
  readonly settings: UpstreamSettings;
  readonly #upstream: Upstream;
  readonly #breaker: AccountBreaker;
  /** Keyed by the server's model name: one address may stand for many machines with separate limits. */
  readonly #pauses: ModelBackoff;
  readonly #log: Log;
  readonly #metrics: Metrics | undefined;
  #models: readonly TableModel[] | undefined;
  /** The server's last refusal: 429 or 503. */
  #busyStatus = 503;

  constructor(settings: UpstreamSettings, clock: Clock, log: Log, metrics?: Metrics) {
    this.settings = settings;
    this.#upstream = new Upstream(settings);
    this.#breaker = new AccountBreaker(clock);
    this.#pauses = new ModelBackoff(clock);
    this.#log = withFields(log, { upstream: settings.name });
    this.#models = settings.models;
    this.#metrics = metrics;
    this.#reportBreaker(0);
  }

  /** Undefined until the first list arrives. */
  get models(): readonly TableModel[] | undefined {
    return this.#models;
  }

  /** Whether calls of all accounts are allowed for the model, by the server's name of it. */
  isHealthy(model: string): boolean {
    return Math.max(this.#breaker.waitMs(NO_ACCOUNT), this.#pauses.waitMs(NO_ACCOUNT, model)) === 0;
  }

  /** Refreshes the model list; keeps the old one on failure. @returns whether the server listed models */
  async refreshModels(signal: AbortSignal): Promise<boolean> {
    try {
      const listed = await this.#upstream.list(signal);
      const { models, belowCost: tooCheap } = offersOf(listed, this.settings);
      if (listed.length === 0) throw new RangeError("the server lists no models");
      if (this.#models === undefined || this.#models.length !== models.length)
        this.#log.info({ models: models.length, belowCost: tooCheap }, "inference models loaded");
      this.#models = models;
      return true;
    } catch (error) {
      if (!signal.aborted)
        this.#log.warn(
          { err: error },
          "inference models could not be loaded; check address and key, or configure a table of models",
        );
      return false;
    }
  }

  /** Completes a conversation unless breaker or backoff apply. @param request in the server's model name */
  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion> {
    const { accountId } = options;
    return this.#guarded(request.model, accountId, async () => {
      // A long trial response must not block others: its first chunk admits further trials.
      const completion = await this.#upstream.complete(request, options, () =>
        this.#breaker.abandoned(accountId),
      );
      return { answer: completion, isLost: completion.finishReason === CONNECTION_LOST };
    });
  }

  /** Computes embeddings, guarded like {@link complete}. @throws ModelServerError */
  embed(request: EmbeddingRequest, options: EmbeddingOptions): Promise<Embeddings> {
    return this.#guarded(request.model, options.accountId, async () => ({
      answer: await this.#upstream.embed(request, options),
      isLost: false,
    }));
  }

  async #guarded<Answer>(
    model: string,
    accountId: string,
    ask: () => Promise<{ answer: Answer; isLost: boolean }>,
  ): Promise<Answer> {
    const pausedMs = this.#pauses.waitMs(accountId, model);
    if (pausedMs > 0 || !this.#breaker.allow(accountId)) {
      const waitMs = Math.max(pausedMs, this.#breaker.waitMs(accountId));
      const status = pausedMs > 0 ? this.#busyStatus : 503;
      throw busy(Math.max(1, Math.ceil(waitMs / 1_000)), undefined, status);
    }
    try {
      const { answer, isLost } = await ask();
      if (isLost) this.#opened(this.#breaker.failed(accountId), CONNECTION_LOST);
      else this.#answered(accountId);
      return answer;
    } catch (error) {
      this.#failed(error, model, accountId);
      throw error;
    }
  }

  #opened(opens: boolean, error: unknown): void {
    if (!opens) return;
    this.#reportBreaker(1);
    this.#log.warn({ err: error }, "inference upstream failed; circuit breaker opened");
  }

  #reportBreaker(open: 0 | 1): void {
    this.#metrics?.set("toolgate_model_breaker_open", open, { upstream: this.settings.name });
  }

  close(): Promise<void> {
    this.#reportBreaker(0);
    return this.#upstream.close();
  }

  #answered(accountId: string): void {
    if (!this.#breaker.succeeded(accountId)) return;
    this.#reportBreaker(0);
    this.#log.info({}, "inference upstream recovered");
  }

  #failed(error: unknown, model: string, accountId: string): void {
    const { verdict, status } =
      error instanceof ModelServerError ? error : { verdict: "unknown" as const, status: 503 };
    switch (verdict) {
      case "unreachable":
        return this.#opened(this.#breaker.unreachable(accountId), error);
      case "broken":
        return this.#opened(this.#breaker.failed(accountId), error);
      case "busy":
        this.#busyStatus = status;
        this.#pauses.add(accountId, model, 1_000 * (retryAfterOf(error) ?? 0));
        return this.#breaker.abandoned(accountId);
      case "served":
        return this.#answered(accountId);
      case "unknown":
        return this.#breaker.abandoned(accountId);
    }
  }
}

function retryAfterOf(error: unknown): number | undefined {
  return error instanceof ModelServerError ? error.retryAfterSeconds : undefined;
}

/** Number of refused accounts from which a model is paused for everyone. */
const ACCOUNTS_TO_PAUSE = 3;

/** Cached pairs of account and model. */
const MAX_PAUSES = 10_000;

/** Backoff per model after 429 or 503: of the account at once, of all accounts after several refusals. */
class ModelBackoff {
  readonly #clock: Clock;
  readonly #own = new Lru<string, number>(MAX_PAUSES);
  readonly #all = new Map<string, { until: number; readonly accounts: Set<string> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the account may call the model; 0: now. */
  waitMs(accountId: string, model: string): number {
    const all = this.#all.get(model);
    const forAll = all && all.accounts.size >= ACCOUNTS_TO_PAUSE ? all.until : 0;
    return Math.max(
      0,
      (this.#own.get(`${accountId} ${model}`) ?? 0) - this.#clock.now(),
      forAll - this.#clock.now(),
    );
  }

  /** Records a refusal with its `Retry-After`, ms. */
  add(accountId: string, model: string, ms: number): void {
    const now = this.#clock.now();
    this.#own.set(`${accountId} ${model}`, now + ms);
    const before = this.#all.get(model);
    const all = before && before.until > now ? before : { until: now, accounts: new Set<string>() };
    all.until = Math.max(all.until, now + ms);
    if (all.accounts.size < ACCOUNTS_TO_PAUSE) all.accounts.add(accountId);
    this.#all.set(model, all);
  }
}
