import { ToolgateError } from "../domain/errors.ts";
import type { Tool } from "../domain/tool.ts";

/** The tools that this installation offers, in their fixed order. */
export class Catalogue {
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;

  constructor(tools: readonly Tool[]) {
    this.tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /**
   * The tool of that name.
   * @throws ToolgateError TOOL_NOT_FOUND, or TOOL_UNAVAILABLE for one that is announced only
   */
  callable(name: string): Tool {
    const tool = this.#byName.get(name);
    if (!tool) {
      const names = this.tools.filter((one) => one.status === "active").map((one) => one.name);
      throw new ToolgateError(
        "TOOL_NOT_FOUND",
        `tool: there is no tool ${JSON.stringify(name.slice(0, 128))}; there are ${names.join(", ")}`,
      );
    }
    if (tool.status !== "active")
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${name} is announced but cannot be called yet`);
    return tool;
  }
}
