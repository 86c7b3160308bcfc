import { z } from "zod";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatModel } from "../../domain/tools/chat.ts";
import type { Embeddings } from "../../domain/tools/embedding.ts";
import type { PreparedCall } from "../../domain/tools/tool.ts";
import { explainIssues } from "../explain-issues.ts";
import { readInput, requireInputFits } from "./input.ts";
import type { PrepareEmbeddings } from "./tool.ts";

/** Of one answer: 5.6 MB of base64. */
const MAX_NUMBERS = 1_048_576;

/** OpenAI API, "Create embeddings", without `encoding_format`, which is the transport's. */
const body = z.strictObject({
  model: z.string().min(1).max(256),
  input: z.unknown(),
  dimensions: z.int().min(1).nullish(),
  user: z.unknown().optional(),
});
const MEMBERS: JsonObject = {
  properties: {
    ...Object.fromEntries(Object.keys(body.shape).map((name) => [name, {}])),
    encoding_format: {},
  },
};

/** Returns the function that prepares a request of the OpenAI API. Its answer has the vectors as base64. */
export function openAiEmbeddings(modelOf: (id: string) => ChatModel, prepare: PrepareEmbeddings) {
  return (sent: JsonObject): PreparedCall => {
    const parsed = body.safeParse(sent, { reportInput: true });
    if (!parsed.success)
      throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, MEMBERS));
    const { model: id, dimensions: wanted } = parsed.data;
    if (!("input" in sent)) throw invalidField("params.input", "is required");
    const model = modelOf(id);
    const input = readInput(sent["input"]);
    const dimensions = wanted ?? undefined;
    requireInputFits(model, input, dimensions, MAX_NUMBERS);
    return prepare({ model: id, input, dimensions }, (made) => answerOf(id, made));
  };
}

/** OpenAI API, "The embedding object". */
function answerOf(model: string, { vectors, promptTokens }: Embeddings): JsonObject {
  return {
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: base64Of(vector) })),
    model,
    usage: { prompt_tokens: promptTokens ?? 0, total_tokens: promptTokens ?? 0 },
  };
}

/** Float32 in little-endian order. */
function base64Of(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4));
  vector.forEach((number, at) => bytes.setFloat32(at * 4, number, true));
  return Buffer.from(bytes.buffer).toString("base64");
}
