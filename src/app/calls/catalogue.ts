import { ToolgateError } from "../../domain/core/errors.ts";
import type { ListedTool, Tool } from "../../domain/tools/tool.ts";

/** The tools of this installation, in a fixed order. */
export class Catalogue {
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  #listed: readonly ListedTool[] = [];

  constructor(tools: readonly Tool[]) {
    this.tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /**
   * Returns the public fields of all tools. The array is replaced only when a field changes, so callers can
   * cache by it.
   */
  listed(): readonly ListedTool[] {
    if (this.tools.some((tool, index) => hasChanged(tool, this.#listed[index])))
      this.#listed = this.tools.map(listing);
    return this.#listed;
  }

  /**
   * Returns the tool with that name.
   * @throws ToolgateError TOOL_NOT_FOUND; TOOL_UNAVAILABLE for a tool that cannot be called yet
   */
  resolve(name: string): Tool {
    const tool = this.#byName.get(name);
    if (!tool) {
      const names = this.tools.filter((one) => one.status === "active").map((one) => one.name);
      throw new ToolgateError(
        "TOOL_NOT_FOUND",
        `tool: there is no tool ${JSON.stringify(name.slice(0, 128))}; there are ${names.join(", ")}`,
      );
    }
    if (tool.status !== "active")
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${name} is listed but cannot be called yet`);
    return tool;
  }
}

/** Name, billing and price never change. */
function hasChanged({ status, description, inputSchema }: Tool, listed: ListedTool | undefined): boolean {
  return (
    listed?.status !== status || listed.description !== description || listed.inputSchema !== inputSchema
  );
}

function listing(tool: Tool): ListedTool {
  const { name, status, billable, description, inputSchema, fixedPrice, metered = false } = tool;
  return { name, status, billable, description, inputSchema, fixedPrice, metered };
}
