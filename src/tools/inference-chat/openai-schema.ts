import { z } from "zod";
import type { ItemLimits } from "../explain-issues.ts";
import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";

const text = z.string().max(1_048_576);
const name = z.string().min(1).max(256);
const optional = <Type extends z.ZodType>(type: Type) => type.nullish();

const textPart = { type: z.literal("text"), text };
const imagePart = {
  type: z.literal("image_url"),
  image_url: z.strictObject({
    url: z.string().refine(isImageUrl, {
      error:
        "must be a data:image/ or http(s) URL, without user name, spaces, backslashes or control characters",
    }),
    detail: optional(z.string().max(32)),
  }),
};

/** Refuses what parsers of URLs read differently: they would not agree on the host. */
function isImageUrl(url: string): boolean {
  if (url.startsWith("data:image/")) return true;
  return /^https?:\/\/[^\p{C}\p{Z}\\/?#@]+(?:[/?#][^\p{C}\p{Z}\\]*)?$/u.test(url) && URL.canParse(url);
}

/** Text or parts. A union would report the problem of neither. */
function content(part: z.ZodType) {
  return z.preprocess(
    (value) => (typeof value === "string" ? [{ type: "text", text: value }] : value),
    z.array(part).max(1_024).nullish(),
  );
}

const toolCall = z.looseObject({
  id: optional(text),
  type: optional(text),
  function: optional(z.looseObject({ name: optional(text), arguments: z.unknown().optional() })),
});

const custom = z.looseObject({ name });
const called = z.looseObject({
  name,
  description: optional(text),
  parameters: optional(z.custom<JsonObject>(isJsonObject, "must be an object")),
  strict: optional(z.boolean()),
});
const tool = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("function"), function: called }),
  z.looseObject({ type: z.literal("custom"), custom }),
]);

const chosen = [
  z.strictObject({ type: z.literal("function"), function: z.strictObject({ name }) }),
  z.strictObject({ type: z.literal("custom"), custom: z.strictObject({ name }) }),
] as const;
const allowed = z.strictObject({
  mode: z.enum(["auto", "required"]),
  tools: z.array(z.union(chosen)).max(128),
});
const choice = z.union(
  [
    z.enum(["none", "auto", "required"]),
    ...chosen,
    z.strictObject({ type: z.literal("allowed_tools"), allowed_tools: allowed }),
  ],
  'must be "none", "auto", "required", {"type":"function","function":{"name":"…"}}, the same for custom, ' +
    'or {"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[…]}}',
);

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
  functions: optional(z.array(called)),
  function_call: optional(z.union([z.enum(["none", "auto"]), z.strictObject({ name })])),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(format),
  reasoning_effort: optional(z.string().max(32)),
  verbosity: optional(z.string().max(32)),
};

/** Checked before all else. */
export const ITEM_LIMITS: ItemLimits = {
  messages: 1_024,
  tools: 128,
  functions: 128,
  stop: 16,
  logit_bias: 1_024,
  // Each form of these would report every member that it does not know.
  tool_choice: 16,
  function_call: 16,
  response_format: 16,
};

/** Accepted without effect: they concern storage, billing and abuse control of OpenAI itself. */
const IGNORED = {
  n: optional(z.literal(1)),
  modalities: optional(z.tuple([z.literal("text")])),
  store: optional(z.literal(false)),
  service_tier: optional(z.enum(["auto", "default"])),
  metadata: z.unknown().optional(),
  prompt_cache_key: z.unknown().optional(),
  prompt_cache_retention: z.unknown().optional(),
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

/** The roles that the OpenAI API has or had. */
const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const;

/** Parts that a price covers: text by its bytes, images by their number. */
const parts = content(
  z.discriminatedUnion("type", [
    z.looseObject(textPart),
    z.looseObject(imagePart),
    z.looseObject({ type: z.literal("refusal"), refusal: text }),
    z.looseObject({ type: z.enum(["thinking", "redacted_thinking", "reference"]) }),
  ]),
);

/** Other members are sent on, priced by their bytes: what a server added to an answer comes back to it. */
const message = z.looseObject({
  role: z.enum(ROLES),
  content: parts,
  tool_calls: optional(z.array(toolCall).max(1_000)),
  audio: z.null("has no price, leave it out").optional(),
});

/** @param open whether unknown members of the body are accepted, for servers that know them */
export function chatBody(open: boolean) {
  const body = { ...MEMBERS, ...IGNORED, messages: z.array(message).min(1) };
  return open ? z.looseObject(body) : z.strictObject(body);
}

/** Of a message, part or tool: changes what the server charges, and nothing that it answers. */
export const CACHE_CONTROL = "cache_control";

/** Members that the official clients add to messages, which no server knows. */
export const OF_CLIENTS = new Set(["parsed"]);

/** Members that the gateway knows, of each object that may have others. */
export const KNOWN_MEMBERS = {
  body: new Set([...Object.keys({ ...MEMBERS, ...IGNORED }), "messages"]),
  message: new Set(["role", "content", "name", "tool_calls", "tool_call_id", "function_call"]),
  /** What servers answer, addresses included; they take it back as a record. */
  answer: new Set(
    "refusal reasoning reasoning_content reasoning_details annotations citations search_results".split(" "),
  ),
  part: new Set(["type", "text", "refusal", "image_url"]),
  tool: new Set(["type", "function", "custom"]),
  calledTool: new Set(["name", "description", "parameters", "strict", "format"]),
  toolCall: new Set(["id", "type", "function"]),
  function: new Set(["name", "arguments"]),
} as const;

/** The names of all members, as explainIssues reads them. */
export const CHAT_MEMBERS: JsonObject = {
  properties: Object.fromEntries(
    Object.keys({ ...MEMBERS, ...IGNORED, stream: 0, stream_options: 0, messages: 0 }).map(named),
  ),
};

function named(member: string): [string, JsonObject] {
  return [member, {}];
}
