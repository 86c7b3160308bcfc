import { z } from "zod";
import type { Tool } from "../../src/domain/tools/tool.ts";
import { BUILT_IN_TOOLS, makeTools, pricesSchema } from "../../src/tools/index.ts";
import { NO_DEPS } from "../tools/no-deps.ts";
import { unaskedSandbox } from "../tools/sandbox/scripted-engine.ts";
import { table, withPart } from "./markdown.ts";

const MODEL = {
  id: "m",
  inputRate: 1n,
  outputRate: 1n,
  contextLength: 100,
  maxOutputTokens: 10,
  bytesPerToken: 1,
};
const refuse = () => Promise.reject(new Error("not called"));
const DEPS = {
  ...NO_DEPS,
  inference: { models: [MODEL, { ...MODEL, id: "e", dimensions: 2 }], complete: refuse, embed: refuse },
  sandbox: unaskedSandbox(),
};
const parameters = z.looseObject({
  properties: z
    .record(z.string(), z.looseObject({ type: z.string().optional(), description: z.string().optional() }))
    .default({}),
  required: z.array(z.string()).default([]),
});

/** All built-in tools, none of them unavailable. */
export const ALL_TOOLS = (() => {
  const tools = makeTools({ ...DEPS, prices: pricesSchema.parse(undefined), customTools: [] });
  return tools.map((tool, index) => ({ definition: BUILT_IN_TOOLS[index]!, tool }));
})();

/** Returns the parameters of a tool from its JSON Schema. */
export function parametersOf(tool: Tool) {
  return parameters.parse(tool.inputSchema);
}

/**
 * Fills docs/reference/tools.md: the table of tools, and a section for each active tool that has none in the
 * hand-written text.
 */
export function toolsPage(page: string): string {
  const handwritten = withPart(page, "sections", "");
  const missing = ALL_TOOLS.filter(
    ({ tool }) => tool.status === "active" && !handwritten.includes(`\n## ${tool.name}\n`),
  );
  const head = ["tool", "status", "price", "scope", "does"];
  const listed = withPart(page, "tools", table(head, ALL_TOOLS.map(rowOf)));
  return withPart(listed, "sections", missing.map(({ tool }) => sectionOf(tool)).join(""));
}

function rowOf({ definition: { docs }, tool }: (typeof ALL_TOOLS)[number]): string[] {
  const isActive = tool.status === "active";
  const name = isActive ? `[\`${tool.name}\`](#${tool.name})` : `\`${tool.name}\``;
  const scope = tool.scope ? `\`${tool.scope}\`` : "any valid key";
  return [name, isActive ? "active" : "coming soon", docs.price, scope, docs.does];
}

function sectionOf(tool: Tool): string {
  const { properties, required } = parametersOf(tool);
  const rows = Object.entries(properties).map(([name, { type, description }]) => {
    const words = [...(required.includes(name) ? ["required"] : []), ...(description ? [description] : [])];
    return [`\`${name}\``, type ?? "any", words.join("; ")];
  });
  const parameters = rows.length === 0 ? "" : table(["parameter", "type", ""], rows);
  return `## ${tool.name}\n\n${tool.description}\n\n${parameters}`;
}
