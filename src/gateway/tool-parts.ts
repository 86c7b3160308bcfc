import type { Metrics } from "../app/operations/metrics.ts";
import { UnpaidWork } from "../app/calls/unpaid-work.ts";
import type { ServeConfig } from "../config/config.ts";
import type { ChatModels } from "../domain/tools/chat.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { Log } from "../domain/core/log.ts";
import { systemClock } from "../system.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SandboxDeps } from "../tools/sandbox/deps.ts";
import { openCustomTools } from "./custom-tools.ts";
import { openSandbox } from "./sandbox.ts";

/** Dependencies of tools that reach other systems. */
export interface ToolParts {
  readonly inference: ChatModels | undefined;
  readonly sandbox: SandboxDeps | undefined;
  /** Limits the work for calls that are not charged. */
  readonly unpaidWork: UnpaidWork;
  /** The operator's custom tools. */
  readonly customTools: readonly Tool[];
  /** Starts the background jobs after the servers listen. */
  start(): void;
  /** Closes connections and ends processes. */
  close(): Promise<void>;
}

/** The configured models and their connections. */
interface OpenModels extends ChatModels {
  close(): Promise<void>;
}

/** Opens the configured parts, and loads no others. */
export async function openToolParts(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Log,
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

/** The inference client is the slowest import of a start, so it loads only when configured. */
async function openModels(upstreams: ServeConfig["upstreams"], log: Log): Promise<OpenModels> {
  const { UpstreamModels } = await import("../inference/upstream-models.ts");
  return UpstreamModels.open(upstreams, { clock: systemClock, log });
}
