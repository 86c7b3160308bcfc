import type { Backend } from "./backend.ts";
import { withFields, type Log } from "../../domain/core/log.ts";
import { FREE, priceFrom, type Price } from "./price.ts";
import { CustomTool } from "./custom-tool.ts";
import { Meter } from "./meter.ts";
import { isUrl, type CustomToolSettings, type Target } from "./settings.ts";
import { setTimeout as wait } from "node:timers/promises";

/** Time limit for reading a description file. */
const FILE_MS = 10_000;

/** Creates a backend. It connects on first use. */
export type MakeBackend = (settings: CustomToolSettings) => Promise<Backend>;

export interface OpenTools {
  readonly tools: readonly CustomTool[];
  /** Messages for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
  /** Describes tools of remote servers, with retries, until all are described or this is closed. */
  askServers(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the custom tools. Reports every problem that can be found without contacting a server. */
export async function openTools(
  settingsList: readonly CustomToolSettings[],
  makeBackend: MakeBackend,
  log: Log,
): Promise<OpenTools> {
  const closing = new AbortController();
  const problems: string[] = [];
  const backends: Backend[] = [];
  const open = async (settings: CustomToolSettings, index: number): Promise<CustomTool[]> => {
    const at = `tools[${index}]`;
    const price = await orProblem<Price>(`${at}.price.expression`, problems, () => priceFrom(settings.price));
    const { meter: section, name } = settings;
    const meter =
      section &&
      (await orProblem<Meter>(`${at}.meter.expression`, problems, () =>
        Meter.open(section, withFields(log, { tool: name })),
      ));
    const backend = await orProblem<Backend>(at, problems, () => makeBackend(settings));
    if (backend) backends.push(backend);
    if (!backend) return [];
    // The placeholder price is never used, as a problem prevents the start; it allows other problems to be
    // reported too.
    const tool = new CustomTool(settings, backend, price ?? FREE, meter);
    const file = fileOf(settings.target);
    if (file === undefined && backend.described !== true) return [tool];
    await orProblem(file === undefined ? at : `${at}.${file}`, problems, () =>
      tool.describe(AbortSignal.timeout(FILE_MS)),
    );
    return [tool];
  };
  const tools = (await Promise.all(settingsList.map(open))).flat();
  const asking: Promise<void>[] = [];
  return {
    tools,
    // In configuration order.
    problems: problems.sort((one, other) => one.localeCompare(other, "en", { numeric: true })),
    askServers: async () => {
      const unknown = tools.filter(({ status }) => status !== "active");
      asking.push(...unknown.map((tool) => describeUntilKnown(tool, log, closing.signal)));
      await Promise.all(asking);
    },
    close: async () => {
      closing.abort();
      await Promise.all([...asking, ...backends.map((backend) => backend.close())]);
    },
  };
}

/** Returns the setting of the description file; undefined if only the server can describe the tool. */
function fileOf({ kind, section }: Target): string | undefined {
  if (kind === "http") return isUrl(section.openapi) ? undefined : "http.openapi";
  if (kind === "grpc") return section.descriptor_set === undefined ? undefined : "grpc.descriptor_set";
  return undefined;
}

async function orProblem<Value>(
  path: string,
  problems: string[],
  attempt: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await attempt();
  } catch (error) {
    problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** Doubles up to the maximum. */
const INITIAL_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

const DESCRIBE_MS = 30_000;

/** Describes a tool, with backoff, until the server answers or `signal` aborts. */
export async function describeUntilKnown(
  tool: CustomTool,
  log: Log,
  signal: AbortSignal,
  initialBackoffMs = INITIAL_BACKOFF_MS,
): Promise<void> {
  for (let pauseMs = initialBackoffMs; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_BACKOFF_MS)) {
    try {
      await tool.describe(AbortSignal.any([signal, AbortSignal.timeout(DESCRIBE_MS)]));
      log.info({ tool: tool.name }, "custom tool available");
      return;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ tool: tool.name, err: error, retryInMs: pauseMs }, "custom tool could not be described");
    }
    // Rejects on abort, which the loop condition handles.
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
}
