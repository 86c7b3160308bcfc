import { isJsonObject, type JsonObject, type JsonValue, textOf } from "../core/json.ts";
import type { Form } from "./tool.ts";

/** Returns the base64 in place of that of an image. */
type DataOf = (data: string) => string;

/** The member of a body with the messages, and their parts that are images or have some, by type. */
const PLACES: Readonly<Record<Form, readonly [list: string, ...parts: string[]]>> = {
  openai: ["messages", "image_url"],
  messages: ["messages", "image", "tool_result", "document"],
  responses: ["input", "input_image"],
};

/** The member with the parts of an item of `input`, by its type. */
const MEMBERS = new Map([
  ["message", "content"],
  ["function_call_output", "output"],
  ["custom_tool_call_output", "output"],
]);

/** Returns a body with other data of its images, where they are priced. @param form undefined: any */
export function withImageData(body: JsonObject, dataOf: DataOf, form?: Form): JsonObject {
  return (form ? [PLACES[form]] : Object.values(PLACES)).reduce<JsonObject>(
    (changed, [list, ...types]) =>
      withEach(changed, list, (item) => {
        const type = list === "input" ? textOf(item["type"] ?? "message") : "message";
        return withEach(item, MEMBERS.get(type), (part) => withData(part, types, dataOf));
      }),
    body,
  );
}

function withEach(
  object: JsonObject,
  name: string | undefined,
  change: (item: JsonObject) => JsonObject,
): JsonObject {
  const list = name === undefined ? null : object[name];
  if (name === undefined || !Array.isArray(list)) return object;
  return { ...object, [name]: list.map((item) => (isJsonObject(item) ? change(item) : item)) };
}

function withData(part: JsonObject, types: readonly string[], dataOf: DataOf): JsonObject {
  const { type = "", source, image_url: image } = part;
  if (!types.includes(textOf(type))) return part;
  const withInner = (object: JsonObject) =>
    withEach(object, "content", (inner) => withData(inner, types, dataOf));
  if (type === "tool_result") return withInner(part);
  if (type === "image" || type === "document") {
    if (!isJsonObject(source)) return part;
    const { type: kind, data } = source;
    if (kind === "base64" && typeof data === "string")
      return { ...part, source: { ...source, data: dataOf(data) } };
    return kind === "content" ? { ...part, source: withInner(source) } : part;
  }
  if (!isJsonObject(image)) return { ...part, image_url: withDataUrl(image, dataOf) };
  return { ...part, image_url: { ...image, url: withDataUrl(image["url"], dataOf) } };
}

/** RFC 2397. */
function withDataUrl(url: JsonValue = null, dataOf: DataOf): JsonValue {
  const start = typeof url === "string" && url.startsWith("data:") ? url.indexOf(",") + 1 : 0;
  return start === 0 ? url : textOf(url).slice(0, start) + dataOf(textOf(url).slice(start));
}
