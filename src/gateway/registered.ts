import type { ServeConfig } from "../config/config.ts";
import type { Tool } from "../domain/tool.ts";
import type { Logger } from "../log.ts";

/** The operator's own tools, and the end of their connections. */
export interface OpenRegistered {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

/** Opens the tools that the configuration registers. */
export async function openRegistered(_config: ServeConfig, _log: Logger): Promise<OpenRegistered> {
  return { tools: [], close: async () => {} };
}
