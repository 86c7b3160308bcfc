import type { ChatModels } from "../domain/tools/chat.ts";
import type { Tool } from "../domain/tools/tool.ts";
import {
  unavailableInferenceChat,
  unavailableSandboxCancel,
  unavailableSandboxExecute,
  gpuProvision,
} from "./unavailable-tools.ts";
import { echo } from "./echo.ts";
import { getStatus, type StatusDeps } from "./get-status.ts";
import { inferenceChat } from "./inference-chat/tool.ts";
import type { Prices } from "./prices.ts";
import { sandboxCancel } from "./sandbox/cancel.ts";
import type { SandboxDeps } from "./sandbox/deps.ts";
import { sandboxExecute } from "./sandbox/execute.ts";
import { vramEstimate } from "./vram-estimate/tool.ts";

export interface ToolDeps extends StatusDeps {
  readonly prices: Prices;
  /** Undefined: no model server is configured, so inference_chat is unavailable. */
  readonly inference: ChatModels | undefined;
  /** Undefined: the sandbox is off, so its tools are unavailable. */
  readonly sandbox: SandboxDeps | undefined;
  readonly customTools: readonly Tool[];
}

/** Returns the built-in tools in the order of the specification (section 1), then the custom tools. */
export function makeTools(deps: ToolDeps): Tool[] {
  return [
    getStatus(deps),
    echo(),
    deps.inference ? inferenceChat(deps.inference) : unavailableInferenceChat(),
    vramEstimate(deps.prices.vram_estimate.flat_microusd),
    ...sandboxTools(deps),
    gpuProvision(),
    ...deps.customTools,
  ];
}

function sandboxTools({ sandbox, prices }: ToolDeps): Tool[] {
  if (!sandbox) return [unavailableSandboxExecute(), unavailableSandboxCancel()];
  return [sandboxExecute(sandbox, prices.sandbox_execute), sandboxCancel(sandbox)];
}
