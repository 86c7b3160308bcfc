import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { ChatModels } from "../domain/tools/chat.ts";
import type { EmbeddingModels } from "../domain/tools/embedding.ts";
import type { Log } from "../domain/core/log.ts";
import { requirePackages } from "../optional-packages.ts";
import { systemClock } from "../system.ts";

/** The configured models and their connections. */
export interface OpenModels extends ChatModels, EmbeddingModels {
  close(): Promise<void>;
}

interface Shared {
  readonly upstreams: string;
  readonly models: Promise<OpenModels>;
  users: number;
}

/** The models of several versions of the configuration: those with equal upstreams share them. */
export class SharedModels {
  readonly #log: Log;
  readonly #metrics: Metrics;
  #newest: Shared | undefined;

  constructor(log: Log, metrics: Metrics) {
    this.#metrics = metrics;
    this.#log = log;
  }

  /** Returns models that have to be closed. @param listsWithinMs how long to wait for model lists */
  async open(settings: ServeConfig["upstreams"], listsWithinMs?: number): Promise<OpenModels> {
    const upstreams = textOf(settings);
    const shared =
      this.#newest?.upstreams === upstreams && this.#newest.users > 0
        ? this.#newest
        : { upstreams, models: openModels(settings, this.#log, this.#metrics, listsWithinMs), users: 0 };
    this.#newest = shared;
    shared.users++;
    const models = await shared.models;
    return {
      get models() {
        return models.models;
      },
      isHealthy: (model) => models.isHealthy?.(model) ?? true,
      complete: (request, options) => models.complete(request, options),
      embed: (request, options) => models.embed(request, options),
      close: async () => {
        if (--shared.users === 0) await models.close();
      },
    };
  }
}

/** The inference client is the slowest import of a start, so it loads only when configured. */
async function openModels(
  upstreams: ServeConfig["upstreams"],
  log: Log,
  metrics: Metrics,
  listsWithinMs: number | undefined,
): Promise<OpenModels> {
  requirePackages("inference_chat", ["openai"]);
  const { UpstreamModels } = await import("../inference/upstream-models.ts");
  const limit = listsWithinMs === undefined ? {} : { listsWithinMs };
  return UpstreamModels.open(upstreams, { clock: systemClock, metrics, log, ...limit });
}

function textOf(settings: ServeConfig["upstreams"]): string {
  return JSON.stringify(settings, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
