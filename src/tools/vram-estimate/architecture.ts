/** Layers that look back no further than a window, as Mistral 7B v0.1, Gemma 2 and 3 and gpt-oss have them. */
export interface SlidingWindow {
  readonly tokens: number;
  /** How many of the layers; the others see the whole context. */
  readonly layers: number;
}

/** A mixture of experts in place of the feed-forward network. */
export interface Experts {
  readonly count: number;
  /** Experts that the router gives a token to. */
  readonly active: number;
  /** Experts that see every token besides. */
  readonly shared: number;
  readonly intermediateSize: number;
  /** Layers that keep a plain feed-forward network. */
  readonly denseLayers: number;
}

/** Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1): the cache holds one compressed vector for all heads. */
export interface LatentAttention {
  /** kv_lora_rank */
  readonly rank: number;
  /** qk_rope_head_dim */
  readonly ropeDim: number;
  /** q_lora_rank; undefined where queries are not compressed. */
  readonly queryRank: number | undefined;
  /** qk_nope_head_dim */
  readonly nopeDim: number;
  /** v_head_dim */
  readonly valueDim: number;
}

/** Layers that keep a state of fixed size in place of a key-value cache. */
export interface Recurrent {
  readonly layers: number;
  /** Heads, which are what several GPUs share out. */
  readonly heads: number;
  /** Numbers of the state of one layer and sequence, in 32 bits as the engines keep it. */
  readonly state: number;
  /** Past inputs of the short convolution that one layer and sequence keeps. */
  readonly convolution: number;
  /** Width of all input projections together. */
  readonly projected: number;
  /** Width that the output projection reads. */
  readonly inner: number;
}

/** The shape of a decoder-only transformer. */
export interface Architecture {
  readonly numLayers: number;
  readonly hiddenSize: number;
  readonly numHeads: number;
  /** Fewer than numHeads: grouped-query attention (arXiv 2305.13245). */
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Width of the feed-forward network. */
  readonly intermediateSize: number;
  readonly vocabSize: number;
  /** Whether input and output embeddings are one matrix. */
  readonly tiedEmbeddings: boolean;
  readonly slidingWindow: SlidingWindow | undefined;
  readonly experts: Experts | undefined;
  readonly latentAttention: LatentAttention | undefined;
  readonly recurrent: Recurrent | undefined;
  /** Layers with attention: all of them, except in hybrids. */
  readonly attentionLayers: number;
  /** Layers with a feed-forward network: all of them, except where a layer is one thing only. */
  readonly feedForwardLayers: number;
  /** Matrices of a feed-forward network: 3 with a gate, 2 without. */
  readonly feedForwardMatrices: 2 | 3;
  /** Whether the attention's output has a gate, which makes the query projection twice as wide (Qwen3-Next). */
  readonly gatedAttention: boolean;
}

/** What a plain dense transformer has none of. */
export type PlainMembers =
  | "slidingWindow"
  | "experts"
  | "latentAttention"
  | "recurrent"
  | "attentionLayers"
  | "feedForwardLayers"
  | "feedForwardMatrices"
  | "gatedAttention";

/** A dense transformer with the same gated network and attention in every layer. */
export function plainArchitecture(shape: Omit<Architecture, PlainMembers>): Architecture {
  return {
    ...shape,
    slidingWindow: undefined,
    experts: undefined,
    latentAttention: undefined,
    recurrent: undefined,
    attentionLayers: shape.numLayers,
    feedForwardLayers: shape.numLayers,
    feedForwardMatrices: 3,
    gatedAttention: false,
  };
}

/** Width of the widest feed-forward network that one token passes. */
export function feedForwardWidth({ experts, intermediateSize }: Architecture): number {
  if (!experts) return intermediateSize;
  const routed = (experts.active + experts.shared) * experts.intermediateSize;
  return experts.denseLayers > 0 ? Math.max(routed, intermediateSize) : routed;
}

/** hidden_size / num_layers of the Llama 7B and 13B shapes. */
const ASPECT_RATIO = 128;
/** Wide heads and few of them for keys and values: the common choice since Llama 2 70B. */
const USUAL_HEAD_DIM = 128;
const USUAL_KV_HEADS = 8;
const USUAL_VOCABULARY = 128_000;

/** What {@link architectureOfSize} does, for the result's assumptions. */
export const SIZE_ASSUMPTION =
  "the architecture is estimated from parameters_b: parameters = 12 * num_layers * hidden_size^2 (arXiv 2001.08361, 2.1) " +
  "with hidden_size = 128 * num_layers, heads of 128, at most 8 key-value heads, a vocabulary of 128000; give the architecture for a better estimate";

/** A likely shape for a count of parameters, when nothing else is known of the model. */
export function architectureOfSize(parameters: number): Architecture {
  const numLayers = Math.max(1, Math.round(Math.cbrt(parameters / (12 * ASPECT_RATIO ** 2))));
  const hiddenSize = ASPECT_RATIO * numLayers;
  const numHeads = hiddenSize / USUAL_HEAD_DIM;
  return plainArchitecture({
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads: Math.min(USUAL_KV_HEADS, numHeads),
    headDim: USUAL_HEAD_DIM,
    intermediateSize: usualIntermediateSize(hiddenSize),
    vocabSize: USUAL_VOCABULARY,
    tiedEmbeddings: false,
  });
}

/** A gated network with as many parameters as a plain one of width 4 * hidden_size (arXiv 2002.05202). */
export function usualIntermediateSize(hiddenSize: number): number {
  return Math.ceil((8 * hiddenSize) / 3);
}
