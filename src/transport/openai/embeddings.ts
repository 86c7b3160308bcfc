import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** A request without what concerns only the form of the answer: a repeat may ask for another. */
export interface EmbeddingsRequest {
  readonly params: JsonObject;
  readonly format: "float" | "base64";
}

/** OpenAI API, "Create embeddings". @throws ToolgateError INVALID_REQUEST */
export function readEmbeddingsRequest(body: JsonObject): EmbeddingsRequest {
  const { encoding_format: format = null, ...params } = body;
  if (format !== null && format !== "float" && format !== "base64")
    throw invalidField("encoding_format", "must be float or base64");
  return { params, format: format ?? "float" };
}

/** Returns an answer whose vectors are base64 in the form that was asked for. */
export function withEncoding(answer: JsonObject, format: EmbeddingsRequest["format"]): JsonObject {
  const { data } = answer;
  if (format === "base64" || !Array.isArray(data)) return answer;
  return { ...answer, data: data.map(withNumbers) };
}

function withNumbers(item: JsonValue): JsonValue {
  if (!isJsonObject(item) || typeof item["embedding"] !== "string") return item;
  const bytes = Buffer.from(item["embedding"], "base64");
  const embedding = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  return { ...item, embedding };
}
