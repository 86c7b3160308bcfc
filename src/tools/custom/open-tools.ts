import type { Backend } from "./backend.ts";
import { describeUntilKnown, type DescribeLog } from "./describe-until-known.ts";
import { FREE, priceFrom, type Price } from "./price.ts";
import { CustomTool } from "./custom-tool.ts";
import { isUrl, type CustomToolSettings, type Target } from "./settings.ts";

/** How long what lies in a file may take to be read, ms. */
const FILE_MS = 10_000;

/** Makes what stands behind a tool; its connections are made when they are needed. */
export type MakeBackend = (settings: CustomToolSettings) => Promise<Backend>;

/** The tools, or everything that keeps them from being opened; and the end of their connections. */
export interface OpenTools {
  readonly tools: readonly CustomTool[];
  /** Sentences for the operator, each with the path of the setting. */
  readonly problems: readonly string[];
  /** Asks the servers that must be asked, in the background, again and again until they answer. */
  askServers(): void;
  close(): Promise<void>;
}

/** Opens the tools. What can be known without asking a server is a problem at once. */
export async function openTools(
  registered: readonly CustomToolSettings[],
  makeBackend: MakeBackend,
  log: DescribeLog,
): Promise<OpenTools> {
  const closing = new AbortController();
  const problems: string[] = [];
  const backends: Backend[] = [];
  const open = async (settings: CustomToolSettings, index: number): Promise<CustomTool[]> => {
    const at = `tools[${index}]`;
    const price = await orProblem<Price>(`${at}.price.expression`, problems, () => priceFrom(settings.price));
    const backend = await orProblem<Backend>(at, problems, () => makeBackend(settings));
    if (backend) backends.push(backend);
    if (!backend) return [];
    // Without a price nothing is opened; what else is wrong is told all the same.
    const tool = new CustomTool(settings, backend, price ?? FREE);
    const file = fileOf(settings.target);
    if (file === undefined) return [tool];
    await orProblem(`${at}.${file}`, problems, () => tool.describe(AbortSignal.timeout(FILE_MS)));
    return [tool];
  };
  const tools = (await Promise.all(registered.map(open))).flat();
  const asking: Promise<void>[] = [];
  return {
    tools,
    // In the order of the file, whatever came to an end first.
    problems: problems.sort((one, other) => one.localeCompare(other, "en", { numeric: true })),
    askServers: () => {
      const unknown = tools.filter(({ status }) => status !== "active");
      asking.push(...unknown.map((tool) => describeUntilKnown(tool, log, closing.signal)));
    },
    close: async () => {
      closing.abort();
      await Promise.all([...asking, ...backends.map((backend) => backend.close())]);
    },
  };
}

/** The member that names the file where everything about the tool is said; undefined: only its server knows. */
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
