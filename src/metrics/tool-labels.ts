import { OTHER } from "../app/operations/request-record.ts";

/** Tools with a label of their own: each makes up to a hundred series, which Prometheus keeps in memory. */
const MAX_TOOLS = 100;

/** Bounds the values of the label `tool`: the first tools that are called, then `other`. */
export class ToolLabels {
  readonly #known = new Set<string>();

  of(tool: string | undefined): string {
    if (tool === undefined) return "";
    if (this.#known.has(tool)) return tool;
    if (this.#known.size >= MAX_TOOLS) return OTHER;
    this.#known.add(tool);
    return tool;
  }
}
