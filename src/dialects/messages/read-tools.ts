import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { type Fate, fateOf, type Reading } from "../members.ts";
import { TOOLS } from "./members.ts";

interface Tools {
  /** As chat completions have them; those of the provider too, by which they are priced. */
  readonly chat: JsonObject[];
  /** As they came, without those that are left out. */
  readonly sent: JsonObject[];
  /** Names of those that are left out. */
  readonly gone: ReadonlySet<string>;
}

/** Reads `tools` (Anthropic API, "Create a Message"). @throws ToolgateError INVALID_REQUEST */
export function readTools(tools: JsonValue | undefined, reading: Reading): Tools {
  const [chat, sent, gone]: [JsonObject[], JsonObject[], Set<string>] = [[], [], new Set()];
  if (tools === undefined) return { chat, sent, gone };
  if (!Array.isArray(tools)) throw invalidField("params.tools", "must be an array");
  tools.forEach((tool, at) => {
    const path = `params.tools[${at}]`;
    if (!isJsonObject(tool)) throw invalidField(path, "must be an object");
    const { name = "" } = tool;
    if (typeof name !== "string") throw invalidField(`${path}.name`, "must be a string");
    const fate = toolFate(tool, reading);
    if (fate === "left out" || fate === "ignored") return void gone.add(name);
    sent.push(tool);
    chat.push({ type: "function", function: functionOf(tool, name, kindOf(tool), path) });
  });
  return { chat, sent, gone };
}

/** Returns what becomes of a tool, and notes one that is left out. @throws ToolgateError INVALID_REQUEST */
export function toolFate(tool: JsonObject, reading: Reading): Fate {
  const kind = kindOf(tool);
  return fateOf(TOOLS, kind, `tools.${kind}`, reading);
}

/** The type without its date, such as that of web_search_20250305. */
function kindOf({ type }: JsonObject): string {
  return typeof type === "string" ? type.replace(/_\d{8}$/, "") : "custom";
}

function functionOf(tool: JsonObject, name: string, kind: string, path: string): JsonObject {
  const { description = null, input_schema: schema = null, strict = null } = tool;
  if (kind !== "custom") return { name: name || kind, description: JSON.stringify(tool) };
  if (name === "") throw invalidField(`${path}.name`, "is required, a string");
  if (schema !== null && !isJsonObject(schema))
    throw invalidField(`${path}.input_schema`, "must be an object");
  if (description !== null && typeof description !== "string")
    throw invalidField(`${path}.description`, "must be a string");
  return {
    name,
    ...(description !== null && { description }),
    ...(schema !== null && { parameters: schema }),
    ...(strict === true && { strict }),
  };
}

/** Reads `tool_choice`. @throws ToolgateError INVALID_REQUEST, also if it forces a tool that is left out */
export function chatChoice(choice: JsonValue | undefined, { gone }: Pick<Tools, "gone">): JsonObject {
  if (choice === undefined) return {};
  const { type, name, disable_parallel_tool_use: isSingle = false } = isJsonObject(choice) ? choice : {};
  const parallel = isSingle === true ? { parallel_tool_calls: false } : {};
  if (type === "auto" || type === "none") return { tool_choice: type, ...parallel };
  if (type === "any") return { tool_choice: "required", ...parallel };
  if (type !== "tool" || typeof name !== "string")
    throw invalidField(
      "params.tool_choice",
      'must be {"type":"auto"}, any, none, or {"type":"tool","name":"…"}',
    );
  if (gone.has(name))
    throw invalidField(
      "params.tool_choice.name",
      `${name} is not available for this model; choose another tool`,
    );
  return { tool_choice: { type: "function", function: { name } }, ...parallel };
}
