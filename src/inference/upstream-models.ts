import type {
  ChatCompletion,
  ChatModel,
  ChatModels,
  ChatOptions,
  ChatRequest,
  EmbeddingModels,
  EmbeddingRequest,
  Embeddings,
} from "../domain/tools/chat.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { Clock } from "../domain/core/clock.ts";
import type { Log } from "../domain/core/log.ts";
import type { Guard } from "../outbound/address-guard.ts";
import { measureRequest, type RequestMeasure } from "./model-metrics.ts";
import type { EmbeddingOptions } from "./embedding-answer.ts";
import { ImageInliner } from "./inline-images.ts";
import { costOfAnswer } from "./model-cost.ts";
import { ModelLimits } from "./model-limits.ts";
import { ModelServer } from "./model-server.ts";
import { routesOf, type ModelRoute } from "./model-routes.ts";
import { busy, ModelServerError, unusable } from "./upstream-failure.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** How long startup waits for model lists. Slower upstreams are added later. */
const STARTUP_TIMEOUT_MS = 5_000;
/** Doubles after each failure, until the first list arrives. */
const INITIAL_RETRY_MS = 1_000;

const NOT_ASKED = { verdict: "unknown", worked: false } as const;

export interface UpstreamModelsDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** How long to wait for model lists, ms. */
  readonly listsWithinMs?: number;
  readonly metrics?: Metrics;
  /** Hosts that images may come from; default: public addresses. */
  readonly imageGuard?: Guard;
}

/** Combines upstreams. Fails over only if the first certainly computed nothing: answers are billed. */
export class UpstreamModels implements ChatModels, EmbeddingModels {
  readonly #servers: readonly ModelServer[];
  readonly #log: Log;
  readonly #metrics: Metrics | undefined;
  readonly #limits: ModelLimits;
  readonly #images: ImageInliner;
  readonly #closing = new AbortController();
  readonly #timers = new Map<ModelServer, NodeJS.Timeout>();
  readonly #schedulers = new Map<string, WeightedRoundRobin<UpstreamSettings>>();
  #routes: ReadonlyMap<string, ModelRoute<ModelServer>> = new Map();
  #models: readonly ChatModel[] = [];

  private constructor(
    servers: readonly ModelServer[],
    { clock, log, metrics, imageGuard }: UpstreamModelsDeps,
  ) {
    this.#limits = new ModelLimits(clock);
    this.#images = new ImageInliner(imageGuard);
    this.#servers = servers;
    this.#metrics = metrics;
    this.#log = log;
  }

  /** Opens the upstreams and refreshes the lists of those without a table. */
  static async open(
    upstreams: readonly UpstreamSettings[],
    deps: UpstreamModelsDeps,
  ): Promise<UpstreamModels> {
    const { clock, log, metrics, listsWithinMs = STARTUP_TIMEOUT_MS } = deps;
    const servers = upstreams.map((settings) => new ModelServer(settings, clock, log, metrics));
    const models = new UpstreamModels(servers, deps);
    const refreshes = servers
      .filter(({ models }) => models === undefined)
      .map((server) => models.#refresh(server, 0));
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, listsWithinMs);
    await Promise.race([Promise.all(refreshes), timeout.promise]);
    clearTimeout(timer);
    models.#updateRoutes();
    return models;
  }

  /** The same array until the models change. */
  get models(): readonly ChatModel[] {
    return this.#models;
  }

  isHealthy = (id: string): boolean =>
    this.#routes.get(id)?.providers.some(({ server, model }) => server.isHealthy(model.upstreamModel)) ??
    false;

  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion> {
    return this.#limited(request.model, async (route) => {
      const { signal, listener } = options;
      const own = route.model.passesUrls
        ? request
        : await this.#images.inline(request, { signal, closed: listener?.closed });
      return this.#firstOf(route, (server, model, measured) =>
        server.complete({ ...own, model }, measured.options(options)),
      );
    });
  }

  embed(request: EmbeddingRequest, options: EmbeddingOptions): Promise<Embeddings> {
    return this.#limited(request.model, (route) =>
      this.#firstOf(route, (server, model, measured) =>
        server.embed({ ...request, model }, { ...options, span: measured.step(options.span, "embeddings") }),
      ),
    );
  }

  /** Runs a call of a model within its limits. */
  async #limited<Answer>(
    id: string,
    run: (route: ModelRoute<ModelServer>) => Promise<Answer>,
  ): Promise<Answer> {
    const route = this.#routes.get(id);
    if (!route) throw unusable(`the model ${id} is not offered any more`, undefined, NOT_ASKED);
    const end = this.#limits.enter(route.model);
    try {
      return await run(route);
    } finally {
      end();
    }
  }

  /** Asks the servers of a model until one has answered. */
  async #firstOf<Answer extends ChatCompletion | Embeddings>(
    route: ModelRoute<ModelServer>,
    ask: (server: ModelServer, model: string, measured: RequestMeasure) => Promise<Answer>,
  ): Promise<Answer> {
    const { id } = route.model;
    const failures: ModelServerError[] = [];
    for (const { server, model } of this.#ordered(route)) {
      const measured = measureRequest(this.#metrics, { upstream: server.settings.name, model: id });
      try {
        const answer = await ask(server, model.upstreamModel, measured);
        measured.completed(answer);
        return model.cost ? { ...answer, cost: costOfAnswer(model.cost, answer) } : answer;
      } catch (error) {
        measured.failed(error);
        if (!(error instanceof ModelServerError) || !error.canFailOver) throw error;
        failures.push(error);
        this.#log.info(
          { err: error, upstream: server.settings.name, model: id },
          "inference call failed over to the next upstream",
        );
      }
    }
    throw combinedError(failures);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all([...this.#servers, this.#images].map((one) => one.close()));
  }

  #ordered({ model, providers: sellers }: ModelRoute<ModelServer>): ModelRoute<ModelServer>["providers"] {
    const turns = this.#schedulers.get(model.id) ?? new WeightedRoundRobin<UpstreamSettings>();
    this.#schedulers.set(model.id, turns);
    const order = turns.order(sellers.map(({ server }) => server.settings));
    return order.flatMap((settings) => sellers.filter(({ server }) => server.settings === settings));
  }

  /** Refreshes a model list and schedules the next refresh. */
  async #refresh(server: ModelServer, failed: number): Promise<void> {
    const answered = await server.refreshModels(this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    if (answered) this.#updateRoutes();
    const { refreshMs } = server.settings;
    const pause =
      server.models === undefined ? Math.min(INITIAL_RETRY_MS * 2 ** failed, refreshMs) : refreshMs;
    const again = () => void this.#refresh(server, answered ? 0 : failed + 1);
    this.#timers.set(server, setTimeout(again, pause).unref());
  }

  #updateRoutes(): void {
    this.#routes = routesOf(
      this.#servers.flatMap((server) => {
        const { models = [], settings } = server;
        return [
          { server, table: settings.models !== undefined, models },
          { server, table: true, models: settings.embeddingModels },
        ];
      }),
    );
    const models = [...this.#routes.values()].map(({ model }) => model);
    if (serialized(models) !== serialized(this.#models)) this.#models = models;
  }
}

/** Prefers a retryable error if any upstream sent a Retry-After. */
function combinedError(failures: readonly ModelServerError[]): ModelServerError {
  const [first, ...others] = failures;
  if (first && others.length === 0) return first;
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  const isLimited = failures.every(({ status }) => status === 429);
  const causes = new AggregateError(failures, "all upstreams refused the call");
  if (waits.length > 0) return busy(Math.min(...waits), causes, isLimited ? 429 : 503);
  return unusable("no server for the model can be reached", causes, NOT_ASKED);
}

function serialized(models: readonly ChatModel[]): string {
  return JSON.stringify(models, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** Weight 0: only used if all others fail. */
interface Weighted {
  readonly weight: number;
}

/** Smooth weighted round robin: weights 2 and 1 give a, b, a, a, b, a. */
class WeightedRoundRobin<Server extends Weighted> {
  readonly #credit = new Map<Server, number>();

  /** Returns the next server first, then the others as fallbacks. */
  order(servers: readonly Server[]): readonly Server[] {
    const total = servers.reduce((sum, { weight }) => sum + weight, 0);
    const [first, ...others] = servers;
    if (first === undefined || total === 0) return servers;
    for (const server of servers) this.#credit.set(server, this.#of(server) + server.weight);
    const next = others.reduce((best, server) => (this.#of(server) > this.#of(best) ? server : best), first);
    this.#credit.set(next, this.#of(next) - total);
    return [next, ...servers.filter((server) => server !== next)];
  }

  #of(server: Server): number {
    return this.#credit.get(server) ?? 0;
  }
}
