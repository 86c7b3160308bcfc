import type { ServerResponse } from "node:http";
import { json } from "../../inference/model-server.ts";

interface Asked {
  readonly model: string;
  readonly input: readonly unknown[];
  readonly dimensions?: number;
  readonly encoding_format?: string;
}

export const EMBEDDED = { prompt_tokens: 5, total_tokens: 5 };

/** The vector of the input at a place; all numbers are exact in 32 bits. */
export function vectorAt(index: number, dimensions = 3): number[] {
  return Array.from({ length: dimensions }, (_, at) => index + at / 4);
}

type Behaviour = (asked: Asked, answer: { data: object[]; usage: unknown }) => object;

const item = (embedding: unknown, index: number) => ({ object: "embedding", index, embedding });

/** Models named after how their answers differ. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "embeds-numbers": (_, answer) => answer,
  "embeds-base64": ({ input, dimensions }, answer) => ({
    ...answer,
    data: input.map((_, index) => {
      const bytes = Buffer.alloc(4 * (dimensions ?? 3));
      vectorAt(index, dimensions).forEach((number, at) => bytes.writeFloatLE(number, at * 4));
      return item(bytes.toString("base64"), index);
    }),
  }),
  "embeds-unordered": (_, answer) => ({ ...answer, data: answer.data.toReversed() }),
  "embeds-uncounted": (_, { data }) => ({ data, usage: { prompt_tokens: -1, total_tokens: -1 } }),
  "embeds-overcounted": (_, { data }) => ({ data, usage: { prompt_tokens: 900_000, total_tokens: 900_000 } }),
  "embeds-too-few": (_, { data }) => ({ data: data.slice(1), usage: EMBEDDED }),
  "embeds-twice": (_, { data }) => ({ data: data.map(() => data[0]), usage: EMBEDDED }),
  "embeds-nothing": ({ input }) => ({ data: input.map((_, index) => item([], index)), usage: EMBEDDED }),
  "embeds-overflow": ({ input }) => ({
    data: input.map((_, index) => item([1e300, 1, 1], index)),
    usage: EMBEDDED,
  }),
  "embeds-text": () => ({ data: "none" }),
};

export const EMBEDDING_MODELS = Object.keys(BEHAVIOURS);

export function embed(response: ServerResponse, asked: Asked): void {
  const data = asked.input.map((_, index) => item(vectorAt(index, asked.dimensions), index));
  json(response, 200, BEHAVIOURS[asked.model]?.(asked, { data, usage: EMBEDDED }));
}
