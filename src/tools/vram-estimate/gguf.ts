import type { Architecture } from "./architecture.ts";
import type { Role, Tensors } from "./tensors.ts";

/** Bytes per block and weights per block (ggml-common.h). */
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

/** Type of one tensor in a GGUF file. */
export type GgmlType = keyof typeof BLOCKS;

/** Layers with a better type: all, the first part, or "more": first and last eighth, every third between. */
export type Layers = "all" | "two" | "four" | "eighth" | "sixteenth" | "more";

/** The type of most tensors, and exceptions. The first matching rule applies. */
export interface Mix {
  readonly base: GgmlType;
  readonly embedding?: GgmlType;
  readonly output?: GgmlType;
  readonly query?: GgmlType;
  readonly key?: GgmlType;
  readonly value?: readonly Rule[];
  /** For values if four or more query heads share a key-value head. */
  readonly groupedValue?: GgmlType;
  readonly attentionOutput?: GgmlType;
  /** For the attention output of models with eight experts. */
  readonly outputByExperts?: GgmlType;
  readonly down?: readonly Rule[];
}

export type Rule = readonly [type: GgmlType, layers: Layers];

/**
 * Types chosen by llama-quantize for a 16-bit source (llama.cpp, llama-quant.cpp), i-quants with an
 * importance matrix. The output is q6_k by default; norms, biases and routers stay in 32 bits.
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

export type GgufMix = keyof typeof MIXES;

/** The file types, by family, smallest first. */
export const GGUF_MIXES = Object.keys(MIXES).filter((name): name is GgufMix => name in MIXES);

function mixOf(name: GgufMix): Mix {
  return MIXES[name];
}

/** Returns bytes in a GGUF file. @param shapeGuessed assumes rows of whole blocks, as most models have */
export function ggufBytes(
  mix: GgufMix,
  tensors: Tensors,
  architecture: Architecture,
  shapeGuessed: boolean,
): bigint {
  const perLayer = BigInt(tensors.matrices) * BigInt(tensors.inputs) * BigInt(tensors.outputs);
  const layersOf = new Map<GgmlType, bigint>();
  // Only these types depend on the layer.
  const varies = tensors.role === "value" || tensors.role === "down";
  const alike = varies ? 1 : Math.max(tensors.layers, 1);
  for (let layer = tensors.first; layer < tensors.first + tensors.layers; layer += alike) {
    const wanted = typeOf(mixOf(mix), tensors, architecture, layer);
    const type = shapeGuessed ? wanted : fitting(wanted, tensors.inputs);
    layersOf.set(type, (layersOf.get(type) ?? 0n) + BigInt(alike));
  }
  let bytes = 0n;
  for (const [type, layers] of layersOf) bytes += blockBytes(layers * perLayer, BLOCKS[type]);
  return bytes;
}

/** Bytes of weights in blocks, rounded up. */
export function blockBytes(weights: bigint, [bytes, perBlock]: readonly [number, number]): bigint {
  return (weights * BigInt(bytes) + BigInt(perBlock) - 1n) / BigInt(perBlock);
}

function typeOf(mix: Mix, { role, among }: Tensors, architecture: Architecture, layer: number): GgmlType {
  const eightExperts = architecture.experts?.count === 8;
  const types: Partial<Record<Role, GgmlType | undefined>> = {
    embedding: mix.embedding,
    output: mix.output ?? "q6_k",
    router: "f32",
    query: mix.query,
    key: eightExperts ? beside(mix) : mix.key,
    value: eightExperts ? beside(mix) : valueType(mix, architecture, layer),
    attention_output: eightExperts ? mix.outputByExperts : mix.attentionOutput,
    down: ruled(mix.down, layer, among),
  };
  return types[role] ?? mix.base;
}

/** llama-quantize uses more bits for keys and values beside eight experts. */
function beside({ base }: Mix): GgmlType {
  return base.startsWith("iq2") ? "q4_k" : "q8_0";
}

function valueType(mix: Mix, architecture: Architecture, layer: number): GgmlType {
  const { numHeads, numKvHeads, numLayers, experts, attentionLayers } = architecture;
  const grouped = numHeads >= 4 * numKvHeads || (mix.base.startsWith("iq2") && (experts?.count ?? 0) >= 4);
  const type =
    (grouped ? mix.groupedValue : undefined) ?? ruled(mix.value, layer, attentionLayers) ?? mix.base;
  // Models of 80 layers have 8 query heads per key-value head, so the tensor is small.
  return numLayers === 80 && (type === "q3_k" || type === "q4_k") ? "q5_k" : type;
}

function ruled(rules: readonly Rule[] | undefined, layer: number, among: number): GgmlType | undefined {
  return rules?.find(([, layers]) => APPLIES[layers](layer, among))?.[0];
}

const APPLIES: Record<Layers, (layer: number, among: number) => boolean> = {
  all: () => true,
  two: (layer) => layer < 2,
  four: (layer) => layer < 4,
  eighth: (layer, among) => layer < Math.floor(among / 8),
  sixteenth: (layer, among) => layer < Math.floor(among / 16),
  more: (layer, among) => {
    const eighth = Math.floor(among / 8);
    return layer < eighth || layer >= Math.floor((7 * among) / 8) || (layer - eighth) % 3 === 2;
  },
};

/** Rows that are not a multiple of the block size fall back to smaller blocks, then to 16 bits. */
function fitting(type: GgmlType, inputs: number): GgmlType {
  if (inputs % BLOCKS[type][1] === 0) return type;
  const smaller = { q4_k: "q5_0", q5_k: "q5_1", q6_k: "q8_0" } as const;
  const next = type === "q4_k" || type === "q5_k" || type === "q6_k" ? smaller[type] : "iq4_nl";
  return inputs % BLOCKS[next][1] === 0 ? next : "f16";
}
