import { fieldPath, invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { KNOWN_MEMBERS } from "./openai-schema.ts";

/** Images of one call that the gateway fetches. */
const MAX_FETCHED = 16;

/** Texts that servers may take for an address: with a scheme and a slash, or for `file:` without one. */
const ADDRESS = /^[\s\p{C}]*(?:[a-z][a-z\d+.-]*:[\\/]|file:|[\\/]{2})/iu;

const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

const OF_ASSISTANT = new Set([...KNOWN_MEMBERS.message, ...KNOWN_MEMBERS.answer]);

type Step = string | number;
type Path = readonly Step[];

/**
 * Refuses what a model's server would fetch for the caller: addresses in members that the gateway does not
 * know, and references to other schemas. Images are left to the gateway.
 * @throws ToolgateError INVALID_REQUEST naming the field
 */
export function requireNoServerFetch(body: JsonObject): void {
  const { tools, functions, response_format: format } = body;
  requireLocalSchemas(tools, ["tools"]);
  requireLocalSchemas(functions, ["functions"]);
  requireLocalSchemas(format, ["response_format"]);
  requireNoAddress(body, KNOWN_MEMBERS.body, []);
  for (const [tool, path] of objectsOf(tools, ["tools"])) {
    requireNoAddress(tool, KNOWN_MEMBERS.tool, path);
    for (const name of ["function", "custom"]) {
      const called = tool[name];
      if (isJsonObject(called)) requireNoAddress(called, KNOWN_MEMBERS.calledTool, [...path, name]);
    }
  }
  for (const [called, path] of objectsOf(functions, ["functions"]))
    requireNoAddress(called, KNOWN_MEMBERS.calledTool, path);
  let images = 0;
  for (const [message, path] of objectsOf(body["messages"], ["messages"])) {
    requireNoAddress(message, message["role"] === "assistant" ? OF_ASSISTANT : KNOWN_MEMBERS.message, path);
    for (const [part, at] of objectsOf(message["content"], [...path, "content"])) {
      requireNoAddress(part, KNOWN_MEMBERS.part, at);
      if (isImageByAddress(part)) images++;
    }
    for (const [call, at] of objectsOf(message["tool_calls"], [...path, "tool_calls"])) {
      requireNoAddress(call, KNOWN_MEMBERS.toolCall, at);
      const { function: called } = call;
      if (isJsonObject(called)) requireNoAddress(called, KNOWN_MEMBERS.function, [...at, "function"]);
    }
  }
  if (images > MAX_FETCHED)
    throw invalidField(
      "params.messages",
      `has ${images} images by URL; send at most ${MAX_FETCHED}, and others as data:image/ URLs`,
    );
}

function isImageByAddress({ type, image_url: image }: JsonObject): boolean {
  if (type !== "image_url" || !isJsonObject(image)) return false;
  const { url } = image;
  return typeof url === "string" && !url.startsWith("data:");
}

function* objectsOf(value: JsonValue | undefined, path: Path): Iterable<[JsonObject, Path]> {
  for (const [at, one] of Array.isArray(value) ? value.entries() : [])
    if (isJsonObject(one)) yield [one, [...path, at]];
}

function requireNoAddress(object: JsonObject, known: ReadonlySet<string>, path: Path): void {
  for (const [name, value] of Object.entries(object))
    if (!known.has(name)) refuseTexts(value, [...path, name], (text) => ADDRESS.test(text));
}

/** JSON Schema, section 8.2.3: `$ref` and its kin may name a document elsewhere. */
function requireLocalSchemas(value: JsonValue | undefined, path: Path): void {
  const isForeign = (text: string, name: Step) =>
    typeof name === "string" && REFERENCES.has(name) && !text.startsWith("#");
  if (value !== undefined) refuseTexts(value, path, isForeign);
}

type IsRefused = (text: string, name: Step) => boolean;

function refuseTexts(value: JsonValue, path: Path, isRefused: IsRefused): void {
  const found = findText(value, path.at(-1) ?? "", isRefused);
  if (!found) return;
  const problem = "names an address, which the model's server would fetch; send the content itself";
  throw new ToolgateError("INVALID_REQUEST", `${fieldPath([...path, ...found])}: ${problem}`);
}

/** Returns the path of the first refused text below a value. */
function findText(value: JsonValue, name: Step, isRefused: IsRefused): Path | undefined {
  if (typeof value === "string") return isRefused(value, name) ? [] : undefined;
  if (value === null || typeof value !== "object") return undefined;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = findText(value[at] ?? null, at, isRefused);
      if (found) return [at, ...found];
    }
    return undefined;
  }
  for (const at in value) {
    const found = findText(value[at] ?? null, at, isRefused);
    if (found) return [at, ...found];
  }
  return undefined;
}
