import { z } from "zod";
import type { ItemLimits } from "../explain-issues.ts";
import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";

const text = z.string().max(1_048_576);
const name = z.string().min(1).max(256);
const optional = <Type extends z.ZodType>(type: Type) => type.nullish();

/** As {@link optional}, without effect: members that clients add to the messages they got. */
const ADDED = {
  refusal: optional(text),
  reasoning_content: optional(text),
  reasoning: optional(text),
  annotations: z.unknown().optional(),
  parsed: z.unknown().optional(),
  audio: z.null().optional(),
  function_call: z.null().optional(),
};

const textPart = { type: z.literal("text"), text };
const imagePart = {
  type: z.literal("image_url"),
  image_url: z.strictObject({
    url: z.string().refine(isImageUrl, {
      error:
        "must be a data:image/ or http(s) URL, without user name, spaces, backslashes or control characters",
    }),
    detail: optional(z.enum(["auto", "low", "high"])),
  }),
};

/** Refuses what parsers of URLs read differently: they would not agree on the host. */
function isImageUrl(url: string): boolean {
  if (url.startsWith("data:image/")) return true;
  return /^https?:\/\/[^\p{C}\p{Z}\\/?#@]+(?:[/?#][^\p{C}\p{Z}\\]*)?$/u.test(url) && URL.canParse(url);
}

/** Text or parts. A union would report the problem of neither. */
function content(part: z.ZodType) {
  const parts = z.array(part).min(1).max(1_024);
  return z.preprocess(
    (value) => (typeof value === "string" ? [{ type: "text", text: value }] : value),
    parts,
  );
}

const toolCall = z.looseObject({
  id: z.string().max(256),
  type: z.literal("function"),
  function: z.looseObject({ name, arguments: text }),
});

const tool = z.strictObject({
  type: z.literal("function"),
  function: z.strictObject({
    name,
    description: optional(text),
    parameters: optional(z.custom<JsonObject>(isJsonObject, "must be an object")),
    strict: optional(z.boolean()),
  }),
});

const choice = z.union([
  z.enum(["none", "auto", "required"]),
  z.strictObject({ type: z.literal("function"), function: z.strictObject({ name }) }),
]);

const format = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    json_schema: z.strictObject({
      name: z.string().regex(/^[\w-]{1,64}$/, "must be 1 to 64 letters, digits, _ or -"),
      description: optional(text),
      schema: optional(z.custom<JsonObject>(isJsonObject, "must be an object")),
      strict: optional(z.boolean()),
    }),
  }),
]);

const limit = optional(z.int().min(1));
const penalty = optional(z.number().min(-2).max(2));

/** The members of a request (OpenAI API, "Create chat completion") and their rules. */
const MEMBERS = {
  model: name,
  max_tokens: limit,
  max_completion_tokens: limit,
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  seed: optional(z.int()),
  stop: optional(z.union([text, z.array(text)])),
  logit_bias: optional(z.record(z.string(), z.number().min(-100).max(100))),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  tools: optional(z.array(tool)),
  tool_choice: optional(choice),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(format),
  reasoning_effort: optional(z.string().max(32)),
  verbosity: optional(z.string().max(32)),
};

/** Checked before all else. */
export const ITEM_LIMITS: ItemLimits = { messages: 1_024, tools: 128, stop: 16, logit_bias: 1_024 };

/** Accepted without effect: they concern storage, billing and abuse control of OpenAI itself. */
const IGNORED = {
  n: optional(z.literal(1)),
  modalities: optional(z.tuple([z.literal("text")])),
  store: optional(z.literal(false)),
  service_tier: optional(z.enum(["auto", "default"])),
  metadata: z.unknown().optional(),
  prompt_cache_key: z.unknown().optional(),
  safety_identifier: z.unknown().optional(),
  user: z.unknown().optional(),
};

/** Members of a request that are not passed on as they are. */
export const OWN_MEMBERS = new Set([
  ...Object.keys(IGNORED),
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
]);

/** Members of a message that are not passed on: some servers refuse them. */
export const DROPPED_FROM_MESSAGES = new Set(["annotations", "parsed", "audio", "function_call"]);

/** @param open whether unknown members are accepted, for servers that know them */
export function chatBody(open: boolean) {
  const object = <Shape extends z.ZodRawShape>(shape: Shape) =>
    open ? z.looseObject(shape) : z.strictObject(shape);
  const texts = content(object(textPart));
  const parts = content(z.discriminatedUnion("type", [object(textPart), object(imagePart)]));
  const refusals = content(
    z.discriminatedUnion("type", [object(textPart), object({ type: z.literal("refusal"), refusal: text })]),
  );
  const message = z.discriminatedUnion("role", [
    object({ role: z.literal("system"), content: texts, name: optional(name) }),
    object({ role: z.literal("developer"), content: texts, name: optional(name) }),
    object({ role: z.literal("user"), content: parts, name: optional(name) }),
    object({
      role: z.literal("assistant"),
      content: optional(refusals),
      name: optional(name),
      tool_calls: optional(z.array(toolCall).max(1_000)),
      ...ADDED,
    }),
    object({ role: z.literal("tool"), content: texts, tool_call_id: z.string().max(256) }),
  ]);
  return object({ ...MEMBERS, ...IGNORED, messages: z.array(message).min(1) });
}

/** Members that the gateway knows, of each object that may have others. */
export const KNOWN_MEMBERS = {
  body: new Set([...Object.keys({ ...MEMBERS, ...IGNORED }), "messages"]),
  message: new Set(["role", "content", "name", "tool_calls", "tool_call_id", ...Object.keys(ADDED)]),
  part: new Set(["type", "text", "refusal", "image_url"]),
  toolCall: new Set(["id", "type", "function"]),
  function: new Set(["name", "arguments"]),
} as const;

/** The names of all members, as explainIssues reads them. */
export const CHAT_MEMBERS: JsonObject = {
  properties: {
    ...Object.fromEntries(Object.keys({ ...MEMBERS, ...IGNORED, stream: 0, stream_options: 0 }).map(named)),
    messages: {
      items: {
        properties: Object.fromEntries(["role", "content", "name", "tool_calls", "tool_call_id"].map(named)),
      },
    },
  },
};

function named(member: string): [string, JsonObject] {
  return [member, {}];
}
