import type { Architecture } from "./architecture.ts";

/** Purpose of a matrix, which formats treat differently. */
export type Role =
  | "embedding"
  | "output"
  | "query"
  | "key"
  | "value"
  | "attention_output"
  | "latent"
  | "recurrent"
  | "gate_up"
  | "down"
  | "router";

/** How tensor parallelism splits a matrix. */
export type Split = "even" | "vocabulary" | "kv_heads" | "whole";

/** Equal matrices in consecutive layers. */
export interface Tensors {
  readonly role: Role;
  /** First layer, counted among {@link among}. */
  readonly first: number;
  readonly layers: number;
  /** Number of layers of this kind in the model. */
  readonly among: number;
  /** Matrices per layer. */
  readonly matrices: number;
  /** Inputs; blocks of quantised weights run along them. */
  readonly inputs: number;
  readonly outputs: number;
  readonly split: Split;
  /** Whether the matrices belong to routed experts. */
  readonly expert: boolean;
}

export function numbersOf({ layers, matrices, inputs, outputs }: Tensors): bigint {
  return BigInt(layers) * BigInt(matrices) * BigInt(inputs) * BigInt(outputs);
}

/** Returns every matrix. Biases and norms are omitted; they are below a hundredth of a percent. */
export function tensorsOf(architecture: Architecture): readonly Tensors[] {
  const { hiddenSize, vocabSize, tiedEmbeddings } = architecture;
  const vocabulary = { ...ONCE, inputs: hiddenSize, outputs: vocabSize, split: "vocabulary" } as const;
  return [
    { ...vocabulary, role: tiedEmbeddings ? "output" : "embedding" },
    ...(tiedEmbeddings ? [] : [{ ...vocabulary, role: "output" } as const]),
    ...attention(architecture),
    ...recurrent(architecture),
    ...feedForward(architecture),
  ];
}

export function countParameters(architecture: Architecture): number {
  return Number(tensorsOf(architecture).reduce((sum, tensors) => sum + numbersOf(tensors), 0n));
}

/** Returns the parameters used per token: all except inactive experts. */
export function countActiveParameters(architecture: Architecture, parameters: number): number {
  const { experts } = architecture;
  if (!experts) return parameters;
  const routed = tensorsOf(architecture).filter(({ expert }) => expert);
  const numbers = Number(routed.reduce((sum, tensors) => sum + numbersOf(tensors), 0n));
  return parameters - (numbers / experts.count) * (experts.count - experts.active);
}

const ONCE = { first: 0, layers: 1, among: 1, matrices: 1, expert: false } as const;

function attention(architecture: Architecture): Tensors[] {
  const { attentionLayers, hiddenSize, numHeads, numKvHeads, headDim, gatedAttention } = architecture;
  if (architecture.latentAttention) return latentAttention(architecture, architecture.latentAttention);
  const every = {
    first: 0,
    layers: attentionLayers,
    among: attentionLayers,
    matrices: 1,
    expert: false,
  } as const;
  const heads = numHeads * headDim;
  const keys = { ...every, inputs: hiddenSize, outputs: numKvHeads * headDim, split: "kv_heads" } as const;
  return [
    { ...every, role: "query", inputs: hiddenSize, outputs: (gatedAttention ? 2 : 1) * heads, split: "even" },
    { ...keys, role: "key" },
    { ...keys, role: "value" },
    { ...every, role: "attention_output", inputs: heads, outputs: hiddenSize, split: "even" },
  ];
}

/** Projections into the compressed vectors are whole on every GPU; those out of them are split by heads. */
function latentAttention(
  { attentionLayers, hiddenSize, numHeads }: Architecture,
  { rank, ropeDim, queryRank, nopeDim, valueDim }: NonNullable<Architecture["latentAttention"]>,
): Tensors[] {
  const every = {
    role: "latent",
    first: 0,
    layers: attentionLayers,
    among: attentionLayers,
    matrices: 1,
  } as const;
  const down = { ...every, inputs: hiddenSize, split: "whole", expert: false } as const;
  const up = { ...every, split: "even", expert: false } as const;
  return [
    ...(queryRank === undefined ? [] : [{ ...down, outputs: queryRank }]),
    { ...up, inputs: queryRank ?? hiddenSize, outputs: numHeads * (nopeDim + ropeDim) },
    { ...down, outputs: rank + ropeDim },
    { ...up, inputs: rank, outputs: numHeads * (nopeDim + valueDim) },
    { ...up, role: "attention_output", inputs: numHeads * valueDim, outputs: hiddenSize },
  ];
}

function recurrent({ recurrent: layers, hiddenSize }: Architecture): Tensors[] {
  if (!layers) return [];
  const every = {
    role: "recurrent",
    first: 0,
    layers: layers.layers,
    among: layers.layers,
    matrices: 1,
  } as const;
  return [
    { ...every, inputs: hiddenSize, outputs: layers.projected, split: "even", expert: false },
    { ...every, inputs: layers.inner, outputs: hiddenSize, split: "even", expert: false },
  ];
}

function feedForward(architecture: Architecture): Tensors[] {
  const { feedForwardLayers: among, hiddenSize, intermediateSize, experts } = architecture;
  const dense = experts ? experts.denseLayers : among;
  const before = { first: 0, layers: dense, among, expert: false };
  const plain = dense > 0 ? network(architecture, { ...before, matrices: 1, width: intermediateSize }) : [];
  if (!experts) return plain;
  const mixed = { first: dense, layers: among - dense, among };
  const width = experts.intermediateSize;
  const shared = { ...mixed, matrices: 1, width: width * experts.shared, expert: false };
  return [
    ...plain,
    ...network(architecture, { ...mixed, matrices: experts.count, width, expert: true }),
    ...(experts.shared > 0 ? network(architecture, shared) : []),
    {
      ...mixed,
      role: "router",
      matrices: 1,
      inputs: hiddenSize,
      outputs: experts.count,
      split: "whole",
      expert: false,
    },
  ];
}

type Network = Pick<Tensors, "first" | "layers" | "among" | "matrices" | "expert"> & {
  readonly width: number;
};

function network(architecture: Architecture, { width, ...where }: Network): Tensors[] {
  const { hiddenSize, feedForwardMatrices } = architecture;
  const into = where.matrices * (feedForwardMatrices - 1);
  return [
    { ...where, role: "gate_up", matrices: into, inputs: hiddenSize, outputs: width, split: "even" },
    { ...where, role: "down", inputs: width, outputs: hiddenSize, split: "even" },
  ];
}
