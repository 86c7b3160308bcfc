import { z } from "zod";
import { MAX_MICRO_USD, type MicroUsd } from "../domain/core/money.ts";
import type { Tool } from "../domain/tools/tool.ts";
import { CHARGES, type BuiltInTool, type Charge, type ToolDeps } from "./built-in.ts";
import { echo } from "./echo.ts";
import { getStatus } from "./get-status.ts";
import { gpuProvision } from "./gpu-provision.ts";
import { inferenceChat } from "./inference-chat/tool.ts";
import { inferenceEmbed } from "./inference-embed/tool.ts";
import { sandboxCancel } from "./sandbox/cancel.ts";
import { sandboxExecute } from "./sandbox/execute.ts";
import { vramEstimate } from "./vram-estimate/tool.ts";

/** Built-in tools in the order of the catalogue, the specification's tools (section 1) first. */
export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [
  getStatus,
  echo,
  inferenceChat,
  vramEstimate,
  sandboxExecute,
  sandboxCancel,
  gpuProvision,
  inferenceEmbed,
];

/** Names of the built-in tools. Custom tools need other names. */
export const BUILT_IN_NAMES = BUILT_IN_TOOLS.map(({ name }) => name);

/** Micro-USD, at least 1. */
const microUsd = z
  .int()
  .min(1)
  .max(Number(MAX_MICRO_USD))
  .transform((amount) => BigInt(amount));

/** The `prices` section of the configuration file. The `inference` section holds the prices of models. */
export const pricesSchema = z
  .strictObject(
    Object.fromEntries(
      BUILT_IN_TOOLS.flatMap((tool) => (tool.prices || tool.metered ? [[tool.name, sectionOf(tool)]] : [])),
    ),
  )
  .prefault({});

/** Micro-USD by tool and setting, and what a metered tool charges. */
export type Prices = z.output<typeof pricesSchema>;

export function makeTools(
  deps: ToolDeps & { readonly prices: Prices; readonly customTools: readonly Tool[] },
): Tool[] {
  const listed = BUILT_IN_TOOLS.filter(({ isListed }) => isListed?.(deps) ?? true);
  const builtIn = listed.map((tool) => {
    const { charge, ...amounts } = deps.prices[tool.name] ?? {};
    return tool.make(deps, onlyAmounts(amounts), charge === "quoted" ? charge : "used");
  });
  return [...builtIn, ...deps.customTools];
}

function onlyAmounts(settings: Readonly<Record<string, MicroUsd | Charge>>): Record<string, MicroUsd> {
  const amounts = Object.entries(settings).flatMap(([name, value]) =>
    typeof value === "bigint" ? [[name, value] as const] : [],
  );
  return Object.fromEntries(amounts);
}

function sectionOf({ prices = {}, metered }: BuiltInTool) {
  const settings: Record<string, z.ZodType<MicroUsd | Charge>> = {};
  if (metered) {
    settings["charge"] = z
      .enum(CHARGES)
      .prefault("used")
      .describe("used: what a call used, at most its price; quoted: always its price");
  }
  for (const [name, { default: usual, description }] of Object.entries(prices)) {
    settings[name] = microUsd.prefault(usual).describe(description);
  }
  return z.strictObject(settings).prefault({});
}
