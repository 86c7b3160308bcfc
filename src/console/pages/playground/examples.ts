import type { JsonObject } from "@bufbuild/protobuf";
import { asObject, formatValue, type ParamTexts } from "./schema.ts";

/** What the gateway's own tools are shown with: something that works, and costs little. */
const EXAMPLES: Readonly<Record<string, JsonObject>> = {
  echo: { message: "Hello from the playground" },
  vram_estimate: { model: "meta-llama/Llama-3.1-8B", context_length: 8_192 },
  inference_chat: {
    messages: [{ role: "user", content: "Say hello in one sentence." }],
    max_tokens: 64,
  },
  sandbox_execute: { language: "python", code: 'print("Hello from the sandbox")' },
};

/** What a tool's form is filled with at first: its example, else what its schema names as example, default or only choice of what is required. */
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
