import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { fateOf, type Reading } from "../members.ts";
import { objectsAt, present, textAt } from "./fields.ts";
import { TOOLS } from "./members.ts";

/** A tool's name as the caller has it. */
export interface ToolName {
  readonly name: string;
  readonly namespace?: string;
}

/** Tools of a request. */
export interface Tools {
  /** As chat completions have them; all of them, by which they are priced. */
  readonly chat: JsonObject[];
  /** As they came, without those that are left out. */
  readonly sent: JsonObject[];
  /** The callers' names of those that have others in chat completions. */
  readonly names: Map<string, ToolName>;
}

/** Reads `tools` (OpenAI API, "Create a model response"). @throws ToolgateError INVALID_REQUEST */
export function readTools(value: JsonValue | undefined, reading: Reading): Tools {
  const tools: Tools = { chat: [], sent: [], names: new Map() };
  if (value === undefined) return tools;
  for (const [at, tool] of objectsAt(value, "tools").entries()) {
    const path = `tools[${at}]`;
    if (!isKept(tool, path, reading)) continue;
    tools.sent.push(tool);
    if (tool["type"] !== "namespace") addTool(tools, tool, path);
    else
      for (const [place, inner] of objectsAt(tool["tools"], `${path}.tools`).entries())
        addTool(tools, inner, `${path}.tools[${place}]`, textAt(tool, "name", path));
  }
  return tools;
}

/** Whether servers get a tool, and all tools in it. */
function isKept(tool: JsonObject, path: string, reading: Reading): boolean {
  const type = textAt(tool, "type", path);
  return fateOf(TOOLS, type, `tools.${type}`, reading) !== "left out" && keepsTools(tool, path, reading);
}

/** Whether servers get all tools of an object that may have some. */
export function keepsTools({ tools }: JsonObject, path: string, reading: Reading): boolean {
  if (tools === undefined) return true;
  return objectsAt(tools, `${path}.tools`).every((tool, at) => isKept(tool, `${path}.tools[${at}]`, reading));
}

function addTool({ chat, names }: Tools, tool: JsonObject, path: string, namespace?: string): void {
  const type = textAt(tool, "type", path);
  if (type !== "function" && type !== "custom") {
    chat.push({ type: "function", function: { name: type, description: JSON.stringify(tool) } });
    return;
  }
  const own = { name: textAt(tool, "name", path), ...(namespace !== undefined && { namespace }) };
  const name = chatName(own);
  if (namespace !== undefined) names.set(name, own);
  const { description = null, parameters = null, strict = null, format = null } = tool;
  const called =
    type === "function" ? { parameters, strict: strict || null } : { format: chatFormat(format) };
  chat.push({ type, [type]: present({ name, description, ...called }) });
}

/** Chat completions have no namespaces. */
function chatName({ name, namespace }: ToolName): string {
  return namespace === undefined ? name : `${namespace}__${name}`;
}

/** The name of a tool that an item or a choice has. */
export function nameOf(item: JsonObject, path: string): string {
  const { namespace } = item;
  return chatName({ name: textAt(item, "name", path), ...(typeof namespace === "string" && { namespace }) });
}

/** A grammar is flat in one API and nested in the other. */
function chatFormat(format: JsonValue): JsonValue {
  if (!isJsonObject(format) || format["type"] !== "grammar") return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

/** Reads `tool_choice`. @throws ToolgateError INVALID_REQUEST, also if it forces a tool that is left out */
export function chatChoice(choice: JsonValue | undefined, { chat }: Tools, isSame: boolean): JsonObject {
  if (choice === undefined || isSame) return {};
  const isForced = isJsonObject(choice) ? choice["mode"] !== "auto" : choice === "required";
  if (chat.length === 0) {
    if (!isForced) return {};
    throw invalidField(
      "params.tool_choice",
      "forces a tool, and servers of this model get none; add a function",
    );
  }
  if (!isJsonObject(choice)) return { tool_choice: choice };
  if (choice["type"] !== "allowed_tools") return { tool_choice: chosen(choice, "tool_choice") };
  const { mode = "auto", tools } = choice;
  const allowed = objectsAt(tools, "tool_choice.tools").map((tool, at) =>
    chosen(tool, `tool_choice.tools[${at}]`),
  );
  return { tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: allowed } } };
}

function chosen(tool: JsonObject, path: string): JsonObject {
  const type = textAt(tool, "type", path);
  if (type !== "function" && type !== "custom")
    throw invalidField(`params.${path}.type`, `${type} is not available for this model; choose a function`);
  return { type, [type]: { name: nameOf(tool, path) } };
}
