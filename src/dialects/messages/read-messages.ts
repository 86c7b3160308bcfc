import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, textOf } from "../../domain/core/json.ts";
import { addCarried, isCarried } from "../carried.ts";
import { type Fate, fateOf, type Reading } from "../members.ts";
import { BLOCKS } from "./members.ts";
import { toolFate } from "./read-tools.ts";

/** The blocks that no server gets are among `gone`. */
export interface BlockReading extends Reading {
  readonly gone: Set<JsonValue>;
}

/** Returns `system` and `messages` as messages of chat completions. @throws ToolgateError INVALID_REQUEST */
export function chatMessages(
  system: JsonValue | undefined,
  messages: JsonValue | undefined,
  reading: BlockReading,
): JsonObject[] {
  if (!Array.isArray(messages)) throw invalidField("params.messages", "must be an array");
  const first = system === undefined ? [] : systemMessage(partsOf(system, "system", reading));
  return [...first, ...messages.flatMap((message, at) => chatMessage(message, `messages[${at}]`, reading))];
}

function chatMessage(message: JsonValue, path: string, reading: BlockReading): JsonObject[] {
  const { role, content = null } = isJsonObject(message) ? message : {};
  const parts = partsOf(content, `${path}.content`, reading);
  if (role === "user") return userMessages(parts);
  if (role === "assistant") return [assistantMessage(parts, reading)];
  // Agents add to the system's words in mid-conversation.
  if (role === "system") return systemMessage(parts);
  throw invalidField(`params.${path}.role`, 'must be "user", "assistant" or "system"');
}

/** What a block is in chat completions. */
type Part =
  | { readonly kind: "part"; readonly part: JsonObject }
  | { readonly kind: "thought"; readonly text: string; readonly signature: JsonValue }
  | { readonly kind: "call"; readonly call: JsonObject }
  | { readonly kind: "result"; readonly id: string; readonly parts: readonly JsonObject[] };

function partsOf(content: JsonValue, path: string, reading: BlockReading): Part[] {
  if (typeof content === "string") return [{ kind: "part", part: { type: "text", text: content } }];
  if (!Array.isArray(content)) throw invalidField(`params.${path}`, "must be a string or an array of blocks");
  return content.flatMap((block, at) => partOf(block, `${path}[${at}]`, reading));
}

function partOf(block: JsonValue, path: string, reading: BlockReading): Part[] {
  if (!isJsonObject(block)) throw invalidField(`params.${path}`, "must be an object");
  const { type = null } = block;
  if (typeof type !== "string") throw invalidField(`params.${path}.type`, "is required, a string");
  const fate = blockFate(block, type, reading);
  if (fate === "left out") reading.gone.add(block);
  if (fate === "ignored" || fate === "left out") return [];
  switch (type) {
    case "text":
      return [
        {
          kind: "part",
          part: withCache({ type: "text", text: textAt(block, "text", path) }, block, reading),
        },
      ];
    case "image":
      return [
        { kind: "part", part: withCache(imagePart(block["source"], `${path}.source`), block, reading) },
      ];
    case "document":
      return documentParts(block, path, reading);
    case "tool_use":
      return [{ kind: "call", call: callOf(block, path) }];
    case "tool_result":
      return [resultOf(block, path, reading)];
    case "thinking":
      return [
        { kind: "thought", text: textAt(block, "thinking", path), signature: block["signature"] ?? null },
      ];
    default:
      // The price covers its bytes; only servers of the same API get it as it came.
      return [{ kind: "part", part: { type: "text", text: JSON.stringify(block) } }];
  }
}

/** A tool that is added in mid-conversation is one of the request. */
function blockFate({ tool = null, signature = null }: JsonObject, type: string, reading: Reading): Fate {
  if (reading.isSame && isCarried(signature))
    return fateOf(BLOCKS, "redacted_thinking", `content.${type}`, { ...reading, isSame: false });
  const fate = fateOf(BLOCKS, type, `content.${type}`, reading);
  return type === "tool_addition" && fate === "passed" && isJsonObject(tool) ? toolFate(tool, reading) : fate;
}

/** Returns messages without the blocks that no server gets. */
export function withoutGone(messages: JsonValue, gone: ReadonlySet<JsonValue>): JsonValue {
  if (gone.size === 0) return messages;
  if (Array.isArray(messages))
    return messages.filter((one) => !gone.has(one)).map((one) => withoutGone(one, gone));
  if (!isJsonObject(messages) || !Array.isArray(messages["content"])) return messages;
  return { ...messages, content: withoutGone(messages["content"], gone) };
}

/** A mark that changes what a server charges, for servers that may get what the gateway does not know. */
function withCache(
  part: JsonObject,
  { cache_control: cache = null }: JsonObject,
  { isOpen }: Reading,
): JsonObject {
  return isOpen && cache !== null ? { ...part, cache_control: cache } : part;
}

function imagePart(source: JsonValue | undefined, path: string): JsonObject {
  const { type, media_type: media, data, url } = isJsonObject(source) ? source : {};
  if (type === "url" && typeof url === "string") return { type: "image_url", image_url: { url } };
  if (
    type !== "base64" ||
    typeof data !== "string" ||
    typeof media !== "string" ||
    !/^image\/[\w.+-]{1,64}$/.test(media)
  )
    throw invalidField(
      `params.${path}`,
      'must be {"type":"base64","media_type":"image/…","data":"…"} or an http(s) URL',
    );
  return { type: "image_url", image_url: { url: `data:${media};base64,${data}` } };
}

/** Text in a document. Others are counted by page, which no bytes show. */
function documentParts(block: JsonObject, path: string, reading: BlockReading): Part[] {
  const { source, title = null, context = null } = block;
  const { type, data, content = null } = isJsonObject(source) ? source : {};
  const heads = [title, context].filter((text) => typeof text === "string");
  if (type === "text" && typeof data === "string")
    return [{ kind: "part", part: { type: "text", text: [...heads, data].join("\n") } }];
  if (type === "content" && content !== null) return partsOf(content, `${path}.source.content`, reading);
  fateOf(BLOCKS, `document.${textOf(type)}`, `${path}.source`, reading);
  throw invalidField(`params.${path}.source.type`, "must be text or content");
}

function callOf(block: JsonObject, path: string): JsonObject {
  const input = block["input"] ?? {};
  return {
    id: textAt(block, "id", path),
    type: "function",
    function: { name: textAt(block, "name", path), arguments: JSON.stringify(input) },
  };
}

function resultOf(block: JsonObject, path: string, reading: BlockReading): Part {
  const { content = null, is_error: isError = false } = block;
  const parts = content === null ? [] : partsOf(content, `${path}.content`, reading);
  const own = parts.flatMap((part) => (part.kind === "part" ? [part.part] : []));
  return {
    kind: "result",
    id: textAt(block, "tool_use_id", path),
    parts: isError === true ? [{ type: "text", text: "Error:" }, ...own] : own,
  };
}

function textAt(block: JsonObject, name: string, path: string): string {
  const text = block[name];
  if (typeof text === "string") return text;
  throw invalidField(`params.${path}.${name}`, "is required, a string");
}

function systemMessage(parts: readonly Part[]): JsonObject[] {
  const own = parts.flatMap((part) => (part.kind === "part" ? [part.part] : []));
  return own.length === 0 ? [] : [{ role: "system", content: contentOf(own) }];
}

/** Results of tools come first: they answer the calls of the message before. */
function userMessages(parts: readonly Part[]): JsonObject[] {
  const results = parts.flatMap((part) => (part.kind === "result" ? [part] : []));
  const own = parts.flatMap((part) => (part.kind === "part" ? [part.part] : []));
  // Messages of tools have text only.
  const seen = results.flatMap(({ parts: of }) => of.filter(isImage));
  const content = [...seen, ...own];
  return [
    ...results.map(({ id, parts: of }) => ({
      role: "tool",
      tool_call_id: id,
      content: contentOf(of.filter((part) => !isImage(part))),
    })),
    ...(content.length > 0 || results.length === 0 ? [{ role: "user", content: contentOf(content) }] : []),
  ];
}

function assistantMessage(parts: readonly Part[], { api }: Reading): JsonObject {
  const own = parts.flatMap((part) => (part.kind === "part" ? [part.part] : []));
  const calls = parts.flatMap((part) => (part.kind === "call" ? [part.call] : []));
  const records: JsonObject = {};
  const thoughts = parts.flatMap((part) => {
    if (part.kind !== "thought" || addCarried(records, part.signature, api) || part.text === "") return [];
    return [part.text];
  });
  return {
    role: "assistant",
    content: own.length === 0 && calls.length > 0 ? null : contentOf(own),
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join("\n") }),
    ...records,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function isImage({ type }: JsonObject): boolean {
  return type === "image_url";
}

/** Text as a string: many servers take no parts in messages other than a user's. */
function contentOf(parts: readonly JsonObject[]): JsonValue {
  const isText = parts.every((part) => part["type"] === "text" && !("cache_control" in part));
  return isText ? parts.map(({ text }) => textOf(text)).join("\n") : [...parts];
}
