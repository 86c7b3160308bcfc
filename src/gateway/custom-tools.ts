import type { ServeConfig } from "../config/config.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { inSpan, type Span } from "../domain/core/span.ts";
import type { Tool } from "../domain/tools/tool.ts";
import type { Log } from "../domain/core/log.ts";
import type { Backend } from "../tools/custom/backend.ts";
import type { OpenTools } from "../tools/custom/open-tools.ts";
import type { CustomToolSettings, Target } from "../tools/custom/settings.ts";

/** The operator's custom tools and their connections. */
export interface OpenCustomTools {
  readonly tools: readonly Tool[];
  /** Resolves when all servers have described their tools. */
  readonly described: Promise<void>;
  close(): Promise<void>;
}

export type OpenBackend = (settings: CustomToolSettings) => Promise<Backend>;

export function sharedBackends(metrics: Metrics): OpenBackend {
  let pool: Promise<{ acquire: OpenBackend }> | undefined;
  return async (settings) => {
    pool ??= import("../tools/custom/backend-pool.ts").then(
      ({ BackendPool }) =>
        new BackendPool(async (shared) => measuredBackend(await makeBackend(shared), shared, metrics)),
    );
    return (await pool).acquire(settings);
  };
}

/** Opens the configured tools; loads only the protocol libraries they use. Those with problems say why. */
export async function openCustomTools(
  { tools }: Pick<ServeConfig, "tools">,
  log: Log,
  backend: OpenBackend = makeBackend,
): Promise<OpenCustomTools> {
  if (tools.length === 0) return { tools: [], described: Promise.resolve(), close: async () => {} };
  const opened = await open(tools, log, backend);
  for (const problem of opened.problems)
    log.error({ problem }, "custom tool has a problem and is unavailable");
  return { tools: opened.tools, described: opened.askServers(), close: () => opened.close() };
}

/** Opens one tool and asks its server once. @throws Error of its settings or its server; then it is closed */
export async function openCustomTool(
  settings: CustomToolSettings,
  log: Log,
  signal: AbortSignal,
): Promise<Pick<OpenCustomTools, "close"> & { readonly tool: Tool }> {
  const opened = await open([settings], log);
  const [tool] = opened.tools;
  try {
    if (!tool) throw new Error("a tool was opened without a result");
    if (tool.status !== "active") await tool.describe(signal);
    return { tool, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Returns the tools that cannot be sold now, each with the reason for the operator; asks every server. */
export async function unavailableTools(
  { tools }: Pick<ServeConfig, "tools">,
  log: Log,
  signal: AbortSignal,
): Promise<string[]> {
  const reasons = tools.map(async (settings, index) => {
    try {
      await (await openCustomTool(settings, log, signal)).close();
      return [];
    } catch (error) {
      const { unavailableBecause } = await import("../tools/custom/unavailable.ts");
      return [`tools[${index}]: ${settings.name} is unavailable: ${unavailableBecause(error).details}`];
    }
  });
  return (await Promise.all(reasons)).flat();
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

async function open(
  tools: readonly CustomToolSettings[],
  log: Log,
  backend: OpenBackend = makeBackend,
): Promise<OpenTools> {
  const { openTools } = await import("../tools/custom/open-tools.ts");
  return openTools(tools, backend, log);
}

/** Starts the step of a request to a server (semantic conventions, HTTP, RPC and MCP). */
function requestStep(span: Span | undefined, { kind, section }: Target): Span | undefined {
  if (kind === "http") return span?.child("HTTP", {}, "client");
  if (kind === "grpc")
    return span?.child(section.method, { "rpc.system.name": "grpc", "rpc.method": section.method }, "client");
  const attributes = { "mcp.method.name": "tools/call", "gen_ai.tool.name": section.tool };
  return span?.child(`tools/call ${section.tool}`, attributes, "client");
}

/** Counts and times the calls of a custom tool's server. */
function measuredBackend(
  backend: Backend,
  { name: tool, target }: CustomToolSettings,
  metrics: Metrics,
): Backend {
  const { kind: protocol } = target;
  return {
    describe: (signal) => backend.describe(signal),
    forget: () => backend.forget?.(),
    ...(backend.check && { check: (params) => backend.check?.(params) }),
    async call(params, call) {
      const from = performance.now();
      let outcome = "failed";
      try {
        const answer = await inSpan(requestStep(call.span, target), (span) =>
          backend.call(params, span ? { ...call, span } : call),
        );
        outcome = "ok";
        return answer;
      } catch (error) {
        if (error instanceof ToolgateError && error.code === "UNAVAILABLE") outcome = "busy";
        throw error;
      } finally {
        metrics.count("toolgate_backend_requests_total", 1, { tool, protocol, outcome });
        const seconds = (performance.now() - from) / 1_000;
        metrics.observe("toolgate_backend_duration_seconds", seconds, { tool, protocol });
      }
    },
    close: () => backend.close(),
  };
}

async function makeBackend(settings: CustomToolSettings): Promise<Backend> {
  const { name: tool, headers, timeoutMs, maxResponseBytes, guard, target, files } = settings;
  const common = { tool, headers, timeoutMs, maxResponseBytes, guard, files };
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
