import { setTimeout as sleep } from "node:timers/promises";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ResolvedDocument } from "../config/document.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { Log } from "../domain/core/log.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";
import { makeTools } from "../tools/index.ts";
import { WithdrawnModels } from "../tools/inference-chat/withdrawn-models.ts";
import { VERSION } from "../version.ts";
import { SharedModels, type OpenModels } from "./chat-models.ts";
import { openCustomTools, sharedBackends, type OpenBackend, type OpenCustomTools } from "./custom-tools.ts";

/** How long a switch waits for servers to describe new tools and to list their models, ms. */
const SWITCH_WAIT_MS = 500;

/** The tools of one version of the configuration and their connections. */
export interface ToolVersion {
  readonly tools: readonly Tool[];
  readonly inference: OpenModels | undefined;
  close(): Promise<void>;
}

export interface ToolVersionDeps {
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
   * @throws ConfigError with every problem that is found without calling a server
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
    const inference = upstreams.length === 0 ? undefined : await this.#models.open(upstreams, wait);
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
