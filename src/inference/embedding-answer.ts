import { z } from "zod";
import type { ChatOptions, EmbeddingRequest, Embeddings } from "../domain/tools/chat.ts";
import type { ServerAnswer } from "../outbound/server-answer.ts";
import { readJson } from "./read-response.ts";
import { readUsage } from "./usage.ts";
import { unusable } from "./upstream-failure.ts";

/** Bytes: the most numbers that are sold in one answer, written in decimal. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

export type EmbeddingOptions = Pick<ChatOptions, "signal" | "accountId" | "idempotencyKey" | "span">;

/** OpenAI API, "The embedding object": numbers, or float32 in little-endian order as base64. */
const vector = z.union([
  z.array(z.number()).transform((numbers) => Float32Array.from(numbers)),
  z.base64().transform(decoded),
]);

const body = z.object({
  data: z.array(z.object({ index: z.int().nullish(), embedding: vector })),
  usage: z.unknown().optional(),
});

/** Reads vectors. @throws ModelServerError unless there is one for each input, all of one length */
export async function readEmbeddings(
  response: ServerAnswer,
  { input, dimensions }: EmbeddingRequest,
): Promise<Embeddings> {
  const parsed = body.safeParse(await readJson(response, MAX_BODY_BYTES));
  if (!parsed.success) throw unusable("the model server's answer could not be read", parsed.error);
  const { data, usage } = parsed.data;
  const byIndex = new Map(data.map(({ index, embedding }, at) => [index ?? at, embedding]));
  const vectors = input.map((_, index) => byIndex.get(index) ?? new Float32Array());
  const length = dimensions ?? vectors[0]?.length ?? 0;
  const isWhole = vectors.every((one) => one.length === length && one.every(Number.isFinite));
  if (data.length !== input.length || length === 0 || !isWhole)
    throw unusable("the model server's vectors do not match the input", undefined);
  const { promptTokens, totalTokens } = readUsage(usage) ?? {};
  return { vectors, promptTokens: promptTokens || totalTokens || undefined };
}

/** Empty if it is no whole number of numbers. */
function decoded(base64: string): Float32Array {
  const bytes = Buffer.from(base64, "base64");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = bytes.length % 4 === 0 ? bytes.length / 4 : 0;
  return Float32Array.from({ length }, (_, at) => view.getFloat32(at * 4, true));
}
