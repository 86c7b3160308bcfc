import type { ChatCompletion, ChatModel, ChatModels, ChatOptions, ChatRequest } from "../domain/chat.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamSettings } from "./upstream-settings.ts";

/** The models of all upstreams as one shop: each request goes to the upstream that sells the model. */
export class UpstreamModels implements ChatModels {
  readonly models: readonly ChatModel[];
  readonly #upstreamOf: ReadonlyMap<string, Upstream>;

  private constructor(sellers: ReadonlyMap<string, { model: ChatModel; upstream: Upstream }>) {
    this.models = [...sellers.values()].map(({ model }) => model);
    this.#upstreamOf = new Map([...sellers].map(([id, { upstream }]) => [id, upstream]));
  }

  /**
   * Asks the upstreams that have no table what they sell, once, at start. Where two list the same model, the first sells it.
   * @throws Error naming the upstream that does not answer or sells nothing
   */
  static async open(upstreams: readonly UpstreamSettings[], signal: AbortSignal): Promise<UpstreamModels> {
    const sellers = new Map<string, { model: ChatModel; upstream: Upstream }>();
    for (const settings of upstreams) {
      const upstream = new Upstream(settings);
      const models = await offersOf(upstream, signal);
      for (const model of models) if (!sellers.has(model.id)) sellers.set(model.id, { model, upstream });
    }
    return new UpstreamModels(sellers);
  }

  async complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion> {
    const upstream = this.#upstreamOf.get(request.model);
    if (!upstream) throw new RangeError(`no upstream sells the model ${request.model}`);
    return upstream.complete(request, options);
  }
}

async function offersOf(upstream: Upstream, signal: AbortSignal): Promise<readonly ChatModel[]> {
  let models: readonly ChatModel[];
  try {
    models = await upstream.offers(signal);
  } catch (error) {
    throw new Error(
      `the inference upstream ${upstream.name} does not list its models; check its address and key, or give it a table of models`,
      {
        cause: error,
      },
    );
  }
  if (models.length === 0)
    throw new Error(`the inference upstream ${upstream.name} lists no models; give it a table of models`);
  return models;
}
