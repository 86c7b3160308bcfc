import type { Metrics } from "../app/metrics.ts";
import { UnpaidWork } from "../app/unpaid-work.ts";
import type { ServeConfig } from "../config/config.ts";
import type { ChatModels } from "../domain/chat.ts";
import type { Tool } from "../domain/tool.ts";
import type { Logger } from "../log.ts";
import { systemClock } from "../system.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";
import { openCustomTools } from "./custom-tools.ts";
import { openSandbox } from "./sandbox.ts";

/** What the tools reach the outside world through. */
export interface ToolParts {
  readonly inference: ChatModels | undefined;
  readonly sandbox: SandboxDeps | undefined;
  /** Limits what is done for calls that are not charged. */
  readonly unpaidWork: UnpaidWork;
  /** The operator's own tools. */
  readonly customTools: readonly Tool[];
  /** Begins what goes on beside the calls, once the doors are open. */
  start(): void;
  /** Ends connections and processes. */
  close(): Promise<void>;
}

/** The models for sale, and the end of asking for them. */
interface OpenModels extends ChatModels {
  close(): Promise<void>;
}

/** Opens it. What a configuration does not use is not even loaded. */
export async function openToolParts(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Logger,
): Promise<ToolParts> {
  const [inference, customTools] = await Promise.all([
    config.upstreams.length === 0 ? undefined : openModels(config.upstreams, log),
    openCustomTools(config, log),
  ]);
  const sandbox = await openSandbox(config, postgres, metrics, log);
  return {
    inference,
    sandbox: sandbox?.deps,
    unpaidWork: new UnpaidWork(postgres.unpaidWork, metrics),
    customTools: customTools.tools,
    start: () => sandbox?.start(),
    close: async () => {
      await Promise.all([inference?.close(), customTools.close(), sandbox?.close()]);
    },
  };
}

/** Imported only where there is something to open: the client library is the dearest import of a start. */
async function openModels(upstreams: ServeConfig["upstreams"], log: Logger): Promise<OpenModels> {
  const { UpstreamModels } = await import("../inference/upstream-models.ts");
  return UpstreamModels.open(upstreams, { clock: systemClock, log });
}
