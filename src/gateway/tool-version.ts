import { setTimeout as sleep } from "node:timers/promises";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { ChatModels, EmbeddingModels } from "../domain/tools/chat.ts";
import type { Log } from "../domain/core/log.ts";
import { systemClock } from "../system.ts";
import type { ResolvedDocument } from "../config/document.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { SandboxDeps } from "../tools/built-in.ts";
import { makeTools } from "../tools/index.ts";
import { WithdrawnModels } from "../tools/withdrawn-models.ts";
import { VERSION } from "../version.ts";
import { openCustomTools, sharedBackends, type OpenBackend, type OpenCustomTools } from "./custom-tools.ts";

/** The configured models and their connections. */
interface OpenModels extends ChatModels, EmbeddingModels {
  close(): Promise<void>;
}

interface Shared {
  readonly upstreams: string;
  readonly models: Promise<OpenModels>;
  users: number;
}

/** The models of several versions of the configuration: those with equal upstreams share them. */
class SharedModels {
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

/** Loads its modules only when configured. */
async function openModels(
  upstreams: ServeConfig["upstreams"],
  log: Log,
  metrics: Metrics,
  listsWithinMs: number | undefined,
): Promise<OpenModels> {
  const { UpstreamModels } = await import("../inference/upstream-models.ts");
  const limit = listsWithinMs === undefined ? {} : { listsWithinMs };
  return UpstreamModels.open(upstreams, { clock: systemClock, metrics, log, ...limit });
}

function textOf(settings: ServeConfig["upstreams"]): string {
  return JSON.stringify(settings, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}

/** How long a switch waits for servers to describe new tools and to list their models, ms. */
const SWITCH_WAIT_MS = 500;

/** The tools of one version of the configuration and their connections. */
export interface ToolVersion {
  readonly tools: readonly Tool[];
  readonly inference: OpenModels | undefined;
  close(): Promise<void>;
}

interface ToolVersionDeps {
  readonly balance: (accountId: string) => Promise<MicroUsd>;
  readonly sandbox: SandboxDeps | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Opens versions of the tools. Versions share the connections that do not differ. */
export class ToolOpener {
  readonly #deps: ToolVersionDeps;
  readonly #models: SharedModels;
  readonly #backend: OpenBackend;
  readonly #withdrawnModels = new WithdrawnModels();

  constructor(deps: ToolVersionDeps) {
    this.#deps = deps;
    this.#models = new SharedModels(deps.log, deps.metrics);
    this.#backend = sharedBackends(deps.metrics);
  }

  /**
   * @param replaced the version in force; its models become withdrawn where this one lacks them
   * @throws MissingPackagesError without the packages of the model servers
   */
  async open(
    {
      prices,
      upstreams,
      aliases,
      tools,
    }: Pick<ResolvedDocument, "prices" | "upstreams" | "aliases" | "tools">,
    replaced?: ToolVersion,
  ): Promise<ToolVersion> {
    const { balance, sandbox, log } = this.#deps;
    const custom: OpenCustomTools = await openCustomTools({ tools }, log, this.#backend);
    const wait = replaced && SWITCH_WAIT_MS;
    const opening = upstreams.length === 0 ? undefined : this.#models.open(upstreams, wait);
    const inference = await opening?.catch(async (error: unknown) => {
      await custom.close();
      throw error;
    });
    if (wait !== undefined) await Promise.race([custom.described, sleep(wait)]);
    if (replaced) this.#withdrawnModels.update(replaced.inference?.models ?? [], inference?.models ?? []);
    const withdrawnModels = this.#withdrawnModels;
    const customTools = custom.tools;
    const deps = {
      version: VERSION,
      balance,
      sandbox,
      inference,
      aliases,
      withdrawnModels,
      prices,
      customTools,
    };
    return {
      inference,
      tools: makeTools(deps),
      close: async () => void (await Promise.all([inference?.close(), custom.close()])),
    };
  }
}
