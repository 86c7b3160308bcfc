import type { ChatCompletion, ChatModel, ChatModels, ChatOptions, ChatRequest } from "../domain/chat.ts";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../log.ts";
import { ModelServer } from "./model-server.ts";
import { salesOf, type Sale } from "./sold-models.ts";
import { Turns } from "./turns.ts";
import { busy, ModelServerError, unusable } from "./upstream-failure.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** How long a start waits for the lists of upstreams without a table; who is slower is offered later. */
const FIRST_LOOK_MS = 5_000;
/** After how long an upstream that has never listed anything is asked again; twice as long each time. */
const FIRST_RETRY_MS = 1_000;

/** No server has worked for the call. */
const NOT_ASKED = { verdict: "unknown", worked: false } as const;

/** What the shop needs besides its upstreams. */
export interface ShopDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The models of all upstreams as one shop. A call goes to one upstream that sells the model, and to the next one only if the first has
 * surely computed nothing: what was computed is paid for, and nobody pays twice.
 */
export class UpstreamModels implements ChatModels {
  readonly #servers: readonly ModelServer[];
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #timers = new Map<ModelServer, NodeJS.Timeout>();
  readonly #turns = new Map<string, Turns<UpstreamSettings>>();
  #sales: ReadonlyMap<string, Sale<ModelServer>> = new Map();
  #models: readonly ChatModel[] = [];

  private constructor(servers: readonly ModelServer[], log: Logger) {
    this.#servers = servers;
    this.#log = log;
  }

  /**
   * Asks the upstreams that have no table what they sell, and goes on asking. Who does not answer keeps nobody waiting: its models are
   * offered from the moment that it does.
   */
  static async open(
    upstreams: readonly UpstreamSettings[],
    { clock, log }: ShopDeps,
  ): Promise<UpstreamModels> {
    const servers = upstreams.map((settings) => new ModelServer(settings, clock, log));
    const shop = new UpstreamModels(servers, log);
    const looks = servers.filter(({ models }) => models === undefined).map((server) => shop.#look(server, 0));
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, FIRST_LOOK_MS);
    await Promise.race([Promise.all(looks), patience.promise]);
    clearTimeout(timer);
    shop.#arrange();
    return shop;
  }

  /** What is sold at present; the same array as long as nothing changes. */
  get models(): readonly ChatModel[] {
    return this.#models;
  }

  async complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion> {
    const sale = this.#sales.get(request.model);
    if (!sale) throw unusable(`the model ${request.model} is not offered any more`, undefined, NOT_ASKED);
    const failures: ModelServerError[] = [];
    for (const { server, model } of this.#inTurn(sale)) {
      try {
        return await server.complete({ ...request, model: model.upstreamModel }, options);
      } catch (error) {
        if (!(error instanceof ModelServerError) || !error.elsewhere) throw error;
        failures.push(error);
        this.#log.info(
          { err: error, upstream: server.settings.name, model: request.model },
          "a model server did not take a call",
        );
      }
    }
    throw together(failures);
  }

  /** Stops asking for lists, and ends the connections. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all(this.#servers.map((server) => server.close()));
  }

  #inTurn({ model, sellers }: Sale<ModelServer>): Sale<ModelServer>["sellers"] {
    const turns = this.#turns.get(model.id) ?? new Turns<UpstreamSettings>();
    this.#turns.set(model.id, turns);
    const order = turns.order(sellers.map(({ server }) => server.settings));
    return order.flatMap((settings) => sellers.filter(({ server }) => server.settings === settings));
  }

  /** Asks an upstream what it sells, and sees to it that it is asked again. */
  async #look(server: ModelServer, failed: number): Promise<void> {
    const answered = await server.look(this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    if (answered) this.#arrange();
    const { refreshMs } = server.settings;
    const pause = server.models === undefined ? Math.min(FIRST_RETRY_MS * 2 ** failed, refreshMs) : refreshMs;
    const again = () => void this.#look(server, answered ? 0 : failed + 1);
    this.#timers.set(server, setTimeout(again, pause).unref());
  }

  #arrange(): void {
    this.#sales = salesOf(
      this.#servers.flatMap((server) =>
        server.models ? { server, table: server.settings.models !== undefined, models: server.models } : [],
      ),
    );
    const models = [...this.#sales.values()].map(({ model }) => model);
    if (written(models) !== written(this.#models)) this.#models = models;
  }
}

/** What callers are told when nobody took the call: when to come back, if anybody said so. */
function together(failures: readonly ModelServerError[]): ModelServerError {
  const [first, ...others] = failures;
  if (first && others.length === 0) return first;
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
  const causes = new AggregateError(failures, "no upstream took the call");
  if (waits.length > 0) return busy(Math.min(...waits), causes);
  return unusable("no server for the model can be reached", causes, NOT_ASKED);
}

function written(models: readonly ChatModel[]): string {
  return JSON.stringify(models, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
