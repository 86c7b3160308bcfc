import { ToolgateError } from "../../domain/core/errors.ts";
import type { ListedTool, Tool } from "../../domain/tools/tool.ts";

/** The tools of one version of the configuration, in a fixed order. Never changes. */
export class CatalogueVersion {
  /** 0: the instance's own configuration, which is not stored. */
  readonly version: number;
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #unused = Promise.withResolvers<void>();
  #calls = 0;
  #replaced = false;

  constructor(tools: readonly Tool[], version: number) {
    this.version = version;
    this.tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
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
    if (tool.status !== "active") {
      const { unavailableReason: reason } = tool;
      const why = reason === undefined ? " yet" : `: ${reason}`;
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${name} is listed but cannot be called${why}`);
    }
    return tool;
  }

  /** A call with tools of this version starts; it must end with {@link endCall}. */
  startCall(): void {
    this.#calls++;
  }

  endCall(): void {
    this.#calls--;
    this.#resolveIfUnused();
  }

  /** Resolves when the last call of this replaced version has ended. */
  retire(): Promise<void> {
    this.#replaced = true;
    this.#resolveIfUnused();
    return this.#unused.promise;
  }

  #resolveIfUnused(): void {
    if (this.#replaced && this.#calls === 0) this.#unused.resolve();
  }
}

/** The tools of this installation. Versions are replaced as a whole; a call keeps the one it started with. */
export class Catalogue {
  #current: CatalogueVersion;
  #listed: { readonly of: CatalogueVersion; readonly tools: readonly ListedTool[] } | undefined;

  constructor(tools: readonly Tool[], version = 0) {
    this.#current = new CatalogueVersion(tools, version);
  }

  get current(): CatalogueVersion {
    return this.#current;
  }

  get tools(): readonly Tool[] {
    return this.#current.tools;
  }

  /** Switches to another version. @returns the version before */
  replace(next: CatalogueVersion): CatalogueVersion {
    const before = this.#current;
    this.#current = next;
    return before;
  }

  /**
   * Returns the public fields of all tools. The array is replaced only when a field changes, so callers can
   * cache by it.
   */
  listed(): readonly ListedTool[] {
    const of = this.#current;
    const known = this.#listed?.of === of ? this.#listed.tools : [];
    if (this.#listed?.of === of && !of.tools.some((tool, index) => hasChanged(tool, known[index])))
      return known;
    this.#listed = { of, tools: of.tools.map(listing) };
    return this.#listed.tools;
  }

  /** Returns the tool with that name, see {@link CatalogueVersion.resolve}. */
  resolve(name: string): Tool {
    return this.#current.resolve(name);
  }
}

/** Returns the description with what a model must know to pay once: most read nothing else. */
export function describedForModels({
  billable,
  description,
}: Pick<Tool, "billable" | "description">): string {
  return billable
    ? `${description} On a retry, reuse the idempotency key: a call is charged once.`
    : description;
}

/** Name, billing and price of a version never change. */
function hasChanged(tool: Tool, listed: ListedTool | undefined): boolean {
  return (
    listed?.status !== tool.status ||
    listed.unavailableReason !== tool.unavailableReason ||
    listed.description !== tool.description ||
    listed.inputSchema !== tool.inputSchema
  );
}

function listing(tool: Tool): ListedTool {
  const { name, status, unavailableReason, description, inputSchema } = tool;
  const { billable, fixedPrice, maxPrice, metered = false } = tool;
  const price = { billable, fixedPrice, maxPrice, metered };
  return { name, status, unavailableReason, description, inputSchema, ...price };
}
