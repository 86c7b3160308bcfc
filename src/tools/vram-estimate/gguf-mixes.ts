/** Bytes of a block, and the weights in it: the structures of ggml-common.h. */
export const BLOCKS = {
  f16: [2, 1],
  f32: [4, 1],
  q2_k: [84, 256],
  q3_k: [110, 256],
  q4_0: [18, 32],
  q4_k: [144, 256],
  q5_0: [22, 32],
  q5_1: [24, 32],
  q5_k: [176, 256],
  q6_k: [210, 256],
  q8_0: [34, 32],
  iq2_xxs: [66, 256],
  iq2_s: [82, 256],
  iq3_xxs: [98, 256],
  iq3_s: [110, 256],
  iq4_nl: [18, 32],
  iq4_xs: [136, 256],
} as const satisfies Record<string, readonly [bytes: number, weights: number]>;

/** The type of one tensor in a GGUF file. */
export type GgmlType = keyof typeof BLOCKS;

/** Which layers a better type is for: all, the first two, four, eighth or sixteenth, or "more": the first and last eighth and every third between. */
export type Layers = "all" | "two" | "four" | "eighth" | "sixteenth" | "more";

/** A file's type of most tensors, and what it does otherwise: first rule that applies. */
export interface Mix {
  readonly base: GgmlType;
  readonly embedding?: GgmlType;
  readonly output?: GgmlType;
  readonly query?: GgmlType;
  readonly key?: GgmlType;
  readonly value?: readonly Rule[];
  /** Where four or more query heads share a key-value head, its values are worth more bits. */
  readonly groupedValue?: GgmlType;
  readonly attentionOutput?: GgmlType;
  /** The attention's output beside eight experts, which are so large that it may have more bits. */
  readonly outputByExperts?: GgmlType;
  readonly down?: readonly Rule[];
}

export type Rule = readonly [type: GgmlType, layers: Layers];

/**
 * What llama-quantize makes of a 16-bit file (llama.cpp, llama-quant.cpp), i-quants with an importance matrix
 * as published files have them. Output in q6_k unless said; norms, biases and routers stay in 32 bits.
 */
const MIXES = {
  q2_k: {
    base: "q2_k",
    value: [["q3_k", "all"]],
    groupedValue: "q4_k",
    attentionOutput: "q3_k",
    outputByExperts: "q5_k",
    down: [["q3_k", "all"]],
  },
  q3_k_s: { base: "q3_k", outputByExperts: "q5_k" },
  q3_k_m: {
    base: "q3_k",
    value: [
      ["q5_k", "two"],
      ["q4_k", "all"],
    ],
    attentionOutput: "q4_k",
    outputByExperts: "q5_k",
    down: [
      ["q5_k", "sixteenth"],
      ["q4_k", "all"],
    ],
  },
  q3_k_l: { base: "q3_k", value: [["q5_k", "all"]], attentionOutput: "q5_k", down: [["q5_k", "all"]] },
  q4_0: { base: "q4_0" },
  q4_k_s: { base: "q4_k", value: [["q5_k", "four"]], outputByExperts: "q5_k", down: [["q5_k", "eighth"]] },
  q4_k_m: { base: "q4_k", value: [["q6_k", "more"]], outputByExperts: "q5_k", down: [["q6_k", "more"]] },
  q5_0: { base: "q5_0" },
  q5_k_s: { base: "q5_k" },
  q5_k_m: { base: "q5_k", value: [["q6_k", "more"]], down: [["q6_k", "more"]] },
  q6_k: { base: "q6_k" },
  q8_0: { base: "q8_0", output: "q8_0" },
  iq2_xxs: {
    base: "iq2_xxs",
    embedding: "q2_k",
    output: "q5_k",
    value: [["q2_k", "all"]],
    groupedValue: "q4_k",
    outputByExperts: "q5_k",
    down: [["q2_k", "eighth"]],
  },
  iq2_m: {
    base: "iq2_s",
    embedding: "iq3_s",
    output: "q5_k",
    value: [["iq3_s", "all"]],
    groupedValue: "q4_k",
    attentionOutput: "iq3_s",
    outputByExperts: "q5_k",
    down: [["iq3_s", "eighth"]],
  },
  iq3_xxs: {
    base: "iq3_xxs",
    embedding: "iq3_s",
    output: "q5_k",
    query: "iq2_s",
    key: "iq2_s",
    groupedValue: "q4_k",
    attentionOutput: "iq3_s",
    outputByExperts: "q5_k",
  },
  iq3_m: {
    base: "iq3_s",
    value: [["q4_k", "all"]],
    attentionOutput: "q4_k",
    outputByExperts: "q5_k",
    down: [["q4_k", "eighth"]],
  },
  iq4_xs: { base: "iq4_xs", groupedValue: "q5_k", outputByExperts: "q5_k" },
  iq4_nl: { base: "iq4_nl", groupedValue: "q5_k", outputByExperts: "q5_k" },
} as const satisfies Record<string, Mix>;

/** A file type of llama-quantize. */
export type GgufMix = keyof typeof MIXES;

/** The file types, smaller first within a family. */
export const GGUF_MIXES = Object.keys(MIXES).filter((name): name is GgufMix => name in MIXES);

/** What a file of that type has. */
export function mixOf(name: GgufMix): Mix {
  return MIXES[name];
}
