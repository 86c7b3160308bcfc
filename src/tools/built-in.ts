import type { ChatModels, ModelAlias, EmbeddingModels } from "../domain/tools/chat.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { WithdrawnModels } from "./withdrawn-models.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { SandboxRuns } from "../app/calls/sandbox-runs.ts";
import type { SandboxEngine, SelfTestStatus } from "../domain/tools/sandbox.ts";

export interface SandboxDeps {
  readonly engine: SandboxEngine;
  readonly runs: SandboxRuns;
  readonly selfTestStatus: () => SelfTestStatus;
  readonly concurrencyPerAccount: number;
  readonly metrics: Metrics;
}

export interface ToolDeps {
  /** As in GET /health. */
  readonly version: string;
  /** Available balance of the account, micro-USD. */
  readonly balance: (accountId: string) => Promise<MicroUsd>;
  /** Undefined: no model server is configured, so its tools are unavailable. */
  readonly inference: (ChatModels & EmbeddingModels) | undefined;
  /** Names for one of several models. */
  readonly aliases?: readonly ModelAlias[];
  /** Kept when the models are replaced. */
  readonly withdrawnModels?: WithdrawnModels | undefined;
  /** Undefined: the sandbox is off, so its tools are unavailable. */
  readonly sandbox: SandboxDeps | undefined;
}

/** What a metered tool charges (`prices.<tool>.charge`): what a call used, or always its price. */
export const CHARGES = ["used", "quoted"] as const;
export type Charge = (typeof CHARGES)[number];

/** A setting `prices.<tool>.<name>` of the configuration file. */
export interface PriceSetting {
  /** Micro-USD. */
  readonly default: number;
  readonly description: string;
}

/** A built-in tool: its name, price settings and documentation are defined here and nowhere else. */
export interface BuiltInTool {
  readonly name: string;
  /** Its row in docs/reference/tools.md, written by `npm run generate`. */
  readonly docs: { readonly price: string; readonly does: string };
  readonly prices?: Readonly<Record<string, PriceSetting>>;
  /** Has a setting `prices.<tool>.charge`. */
  readonly metered?: boolean;
  /** Whether the catalogue lists the tool; undefined: always. */
  readonly isListed?: (deps: ToolDeps) => boolean;
  /** @param prices the configured price settings, micro-USD */
  make(deps: ToolDeps, prices: Readonly<Record<string, MicroUsd>>, charge?: Charge): Tool;
}

/** Defines a built-in tool; `make` receives the value of each setting in `prices`. */
export function builtIn<Name extends string>(
  tool: Omit<BuiltInTool, "prices" | "make"> & {
    readonly prices?: Readonly<Record<Name, PriceSetting>>;
    make(deps: ToolDeps, prices: Readonly<Record<Name, MicroUsd>>, charge?: Charge): Tool;
  },
): BuiltInTool {
  return tool;
}
