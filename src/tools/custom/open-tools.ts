import type { Backend } from "./backend.ts";
import { withFields, type Log } from "../../domain/core/log.ts";
import { priceFrom, unusablePrice, type Price } from "./price.ts";
import { CustomTool } from "./custom-tool.ts";
import { Meter } from "./meter.ts";
import { UnusableSettingError } from "./unavailable.ts";
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

/**
 * Opens the custom tools. Reports every problem that can be found without contacting a server; a tool with
 * one is unavailable and says why.
 */
export async function openTools(
  settingsList: readonly CustomToolSettings[],
  makeBackend: MakeBackend,
  log: Log,
): Promise<OpenTools> {
  const closing = new AbortController();
  const problems: string[] = [];
  const backends: Backend[] = [];
  const open = async (settings: CustomToolSettings, index: number): Promise<CustomTool> => {
    const report = (setting: string, error: unknown) => {
      const fault = error instanceof UnusableSettingError ? error : faultOf(setting, error);
      problems.push(
        [`tools[${index}]`, fault.setting].filter((part) => part !== "").join(".") + `: ${fault.message}`,
      );
      return fault;
    };
    const faults: UnusableSettingError[] = [];
    const made = async <Value>(setting: string, make: () => Promise<Value>): Promise<Value | undefined> => {
      try {
        return await make();
      } catch (error) {
        faults.push(report(setting, error));
        return undefined;
      }
    };
    const { meter: section, name } = settings;
    const price = await made<Price>("price.expression", () => priceFrom(settings.price));
    const meter =
      section &&
      (await made<Meter>("meter.expression", () => Meter.open(section, withFields(log, { tool: name }))));
    const backend = await made<Backend>("", () => makeBackend(settings));
    if (backend) backends.push(backend);
    const [fault] = faults;
    const tool = new CustomTool(settings, backend ?? NO_BACKEND, price ?? unusablePrice(settings.price), {
      meter,
      fault,
    });
    const file = fileOf(settings.target);
    // Other problems than those above are found too.
    if (backend && (file !== undefined || backend.described === true))
      await tool.describe(AbortSignal.timeout(FILE_MS)).catch((error: unknown) => {
        if (error !== fault) report(file ?? "", error);
      });
    return tool;
  };
  const tools = await Promise.all(settingsList.map(open));
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

function faultOf(setting: string, error: unknown): UnusableSettingError {
  return new UnusableSettingError(setting, error instanceof Error ? error.message : String(error));
}

/** Of a tool whose settings do not say how to reach its server. */
const NO_BACKEND: Backend = {
  describe: () => Promise.reject(new Error("its settings cannot be used")),
  call: () => Promise.reject(new Error("its settings cannot be used")),
  close: async () => {},
};

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
