import type { JsonObject } from "@bufbuild/protobuf";
import { asObject, formatValue, type ParamTexts } from "./schema.ts";

/** Cheap, working example parameters of the built-in tools. */
const EXAMPLES: Readonly<Record<string, JsonObject>> = {
  echo: { message: "Hello from the playground" },
  vram_estimate: { model: "meta-llama/Llama-3.1-8B", context_length: 8_192 },
  inference_embed: { input: ["Hello from the playground"] },
  inference_chat: {
    messages: [{ role: "user", content: "Say hello in one sentence." }],
    max_tokens: 64,
  },
  sandbox_execute: { language: "python", code: 'print("Hello from the sandbox")' },
};

/** Returns initial values: the tool's example, or examples, defaults and enums of required fields. */
export function exampleFor(tool: string, schema: JsonObject | undefined): ParamTexts {
  const own = EXAMPLES[tool] ?? {};
  const required = schema?.["required"];
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(asObject(schema?.["properties"]))) {
    const { examples, default: usual, enum: choices } = asObject(value);
    const isRequired = Array.isArray(required) && required.includes(name);
    const first = (list: typeof examples) => (Array.isArray(list) ? list[0] : undefined);
    const chosen = own[name] ?? (isRequired ? (first(examples) ?? usual ?? first(choices)) : undefined);
    if (chosen !== undefined) texts[name] = formatValue(chosen);
  }
  return texts;
}
