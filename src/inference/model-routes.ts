import { type ChatModel, parseTokenRate, type TokenRate, type TokenRates } from "../domain/tools/chat.ts";
import type { ListedCost, ListedModel } from "./listed-models.ts";
import type { TableModel, UpstreamSettings } from "./upstream-settings.ts";

/** Highest configurable rate: keeps the longest call below 2^53 micro-USD, whatever a server lists. */
const MAX_TOKEN_RATE: TokenRate = parseTokenRate("999999.999999999") ?? 0n;

/** The models an upstream sells, and the number withheld because they would sell below cost. */
export interface Offers {
  readonly models: readonly TableModel[];
  readonly belowCost: number;
}

/** Applies `default_model` within the server's limits. Its prices count by markup, else as a minimum. */
export function offersOf(listed: readonly ListedModel[], settings: UpstreamSettings): Offers {
  const models = listed.map((one) => termsOf(one, settings)).filter((one) => one !== undefined);
  return { models, belowCost: listed.length - models.length };
}

function termsOf(listed: ListedModel, { defaults, markupPercent }: UpstreamSettings): TableModel | undefined {
  const { id, cost } = listed;
  if (cost === "unknown") return undefined;
  const rates = markupPercent !== undefined && cost ? markedUp(cost, BigInt(markupPercent)) : defaults;
  if (cost && isBelow(rates, cost)) return undefined;
  if (rates.inputRate > MAX_TOKEN_RATE || rates.outputRate > MAX_TOKEN_RATE) return undefined;
  const contextLength = Math.min(
    listed.contextLength ?? defaults.contextLength,
    listed.contextLimit ?? Infinity,
  );
  return {
    ...defaults,
    inputRate: rates.inputRate,
    outputRate: rates.outputRate,
    cachedInputRate: rates.cachedInputRate,
    cacheWriteRate: rates.cacheWriteRate,
    cacheWriteHourRate: rates.cacheWriteHourRate,
    reasoningRate: rates.reasoningRate,
    id,
    upstreamModel: id,
    cost,
    contextLength,
    maxOutputTokens: Math.min(
      defaults.maxOutputTokens,
      contextLength - 1,
      listed.maxOutputTokens ?? Infinity,
    ),
  };
}

function markedUp({ inputRate, outputRate, cachedInputRate }: ListedCost, percent: bigint): TokenRates {
  const up = (rate: TokenRate) => (rate * (100n + percent) + 99n) / 100n;
  return {
    inputRate: up(inputRate),
    outputRate: up(outputRate),
    ...(cachedInputRate !== undefined && { cachedInputRate: up(cachedInputRate) }),
  };
}

/** Whether tokens of any kind would sell below what they cost. */
function isBelow(
  { inputRate, outputRate, cachedInputRate, reasoningRate }: TokenRates,
  cost: ListedCost,
): boolean {
  return (
    inputRate < cost.inputRate ||
    outputRate < cost.outputRate ||
    (cachedInputRate ?? inputRate) < (cost.cachedInputRate ?? cost.inputRate) ||
    (reasoningRate ?? outputRate) < cost.outputRate
  );
}

/** An upstream that serves a model, with its terms. */
export interface ModelProvider<Server> {
  readonly server: Server;
  readonly model: TableModel;
}

export interface ModelRoute<Server> {
  readonly model: ChatModel;
  readonly providers: readonly ModelProvider<Server>[];
}

/** Maps models to upstreams: those whose tables list it, else the first that does. Limits: the lowest. */
export function routesOf<Server>(
  offers: readonly {
    readonly server: Server;
    readonly table: boolean;
    readonly models: readonly TableModel[];
  }[],
): ReadonlyMap<string, ModelRoute<Server>> {
  const tabled = new Set(offers.flatMap(({ table, models }) => (table ? models.map(({ id }) => id) : [])));
  const sales = new Map<string, ModelRoute<Server>>();
  for (const { server, table, models } of offers) {
    for (const model of models) {
      if (!table && tabled.has(model.id)) continue;
      const { upstreamModel: _, cost: __, ...terms } = model;
      const before = sales.get(model.id);
      // A server may list a model twice.
      if (
        before &&
        (!sameRates(before.model, terms) || before.providers.some((seller) => seller.server === server))
      )
        continue;
      sales.set(model.id, {
        model: before ? withLowerLimits(before.model, terms) : terms,
        providers: [...(before?.providers ?? []), { server, model }],
      });
    }
  }
  return sales;
}

function sameRates(one: ChatModel, other: ChatModel): boolean {
  return (
    one.inputRate === other.inputRate &&
    one.outputRate === other.outputRate &&
    one.cachedInputRate === other.cachedInputRate &&
    one.cacheWriteRate === other.cacheWriteRate &&
    one.cacheWriteHourRate === other.cacheWriteHourRate &&
    one.reasoningRate === other.reasoningRate
  );
}

function withLowerLimits(one: ChatModel, other: ChatModel): ChatModel {
  return {
    ...one,
    contextLength: Math.min(one.contextLength, other.contextLength),
    maxOutputTokens: Math.min(one.maxOutputTokens, other.maxOutputTokens),
    requestsPerMinute: lowest(one.requestsPerMinute, other.requestsPerMinute),
    concurrency: lowest(one.concurrency, other.concurrency),
    // What one of the servers does not take is refused.
    imageTokens:
      one.imageTokens && other.imageTokens ? Math.max(one.imageTokens, other.imageTokens) : undefined,
    passesUnknown: one.passesUnknown && other.passesUnknown,
    passesUrls: one.passesUrls && other.passesUrls,
    api: one.api === other.api ? one.api : undefined,
  };
}

function lowest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
