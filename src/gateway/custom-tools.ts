import { ConfigError, type ServeConfig } from "../config/config.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { Log } from "../domain/core/log.ts";
import type { Backend } from "../tools/custom/backend.ts";
import type { OpenTools } from "../tools/custom/open-tools.ts";
import type { CustomToolSettings } from "../tools/custom/settings.ts";

/** The operator's custom tools and their connections. */
export interface OpenCustomTools {
  readonly tools: readonly Tool[];
  close(): Promise<void>;
}

/**
 * Opens the configured tools; loads only the protocol libraries they use.
 * @throws ConfigError with every problem that is found without calling a server
 */
export async function openCustomTools(
  { tools }: Pick<ServeConfig, "tools">,
  log: Log,
): Promise<OpenCustomTools> {
  if (tools.length === 0) return { tools: [], close: async () => {} };
  const opened = await open(tools, log);
  if (opened.problems.length > 0) {
    await opened.close();
    throw new ConfigError(opened.problems);
  }
  opened.askServers();
  return opened;
}

/** Returns the problems that prevent the configured tools from opening; calls no server. */
export async function customToolProblems(
  { tools }: Pick<ServeConfig, "tools">,
  log: Log,
): Promise<readonly string[]> {
  if (tools.length === 0) return [];
  const opened = await open(tools, log);
  await opened.close();
  return opened.problems;
}

async function open(tools: readonly CustomToolSettings[], log: Log): Promise<OpenTools> {
  const { openTools } = await import("../tools/custom/open-tools.ts");
  return openTools(tools, makeBackend, log);
}

async function makeBackend(settings: CustomToolSettings): Promise<Backend> {
  const { name: tool, headers, timeoutMs, maxResponseBytes, guard, target } = settings;
  const common = { tool, headers, timeoutMs, maxResponseBytes, guard };
  switch (target.kind) {
    case "http": {
      const { HttpBackend } = await import("../tools/custom/http/http-backend.ts");
      return new HttpBackend({ ...common, section: target.section });
    }
    case "grpc": {
      const { GrpcBackend } = await import("../tools/custom/grpc/grpc-backend.ts");
      return new GrpcBackend({ ...common, section: target.section });
    }
    case "mcp": {
      const { McpBackend } = await import("../tools/custom/mcp/mcp-backend.ts");
      return new McpBackend({ ...common, section: target.section });
    }
  }
}
