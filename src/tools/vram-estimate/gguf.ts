import type { Architecture } from "./architecture.ts";
import {
  BLOCKS,
  mixOf,
  type GgmlType,
  type GgufMix,
  type Layers,
  type Mix,
  type Rule,
} from "./gguf-mixes.ts";
import type { Role, Tensors } from "./tensors.ts";

/**
 * Bytes of these matrices in a file of that type.
 * @param shapeGuessed whether widths were guessed: then rows are taken to be whole blocks, as those of published models mostly are
 */
export function ggufBytes(
  mix: GgufMix,
  tensors: Tensors,
  architecture: Architecture,
  shapeGuessed: boolean,
): bigint {
  const perLayer = BigInt(tensors.matrices) * BigInt(tensors.inputs) * BigInt(tensors.outputs);
  const layersOf = new Map<GgmlType, bigint>();
  // Only of these the type depends on the layer.
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

/** Keys and values beside eight experts, which are so large that they may have more bits. */
function beside({ base }: Mix): GgmlType {
  return base.startsWith("iq2") ? "q4_k" : "q8_0";
}

function valueType(mix: Mix, architecture: Architecture, layer: number): GgmlType {
  const { numHeads, numKvHeads, numLayers, experts, attentionLayers } = architecture;
  const grouped = numHeads >= 4 * numKvHeads || (mix.base.startsWith("iq2") && (experts?.count ?? 0) >= 4);
  const type =
    (grouped ? mix.groupedValue : undefined) ?? ruled(mix.value, layer, attentionLayers) ?? mix.base;
  // Models of 80 layers share a key-value head among 8 query heads, so that the tensor is small.
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

/** Rows that are no multiple of the block have a type with smaller blocks, and failing that 16 bits. */
function fitting(type: GgmlType, inputs: number): GgmlType {
  if (inputs % BLOCKS[type][1] === 0) return type;
  const smaller = { q4_k: "q5_0", q5_k: "q5_1", q6_k: "q8_0" } as const;
  const next = type === "q4_k" || type === "q5_k" || type === "q6_k" ? smaller[type] : "iq4_nl";
  return inputs % BLOCKS[next][1] === 0 ? next : "f16";
}
