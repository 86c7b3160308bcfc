/** Layers with a limited attention window, as in Mistral 7B v0.1, Gemma 2 and 3 and gpt-oss. */
export interface SlidingWindow {
  readonly tokens: number;
  /** Number of windowed layers; the others see the whole context. */
  readonly layers: number;
}

export interface Experts {
  readonly count: number;
  /** Experts per token. */
  readonly active: number;
  /** Experts that process every token in addition. */
  readonly shared: number;
  readonly intermediateSize: number;
  /** Layers with a plain feed-forward network. */
  readonly denseLayers: number;
}

/** Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, 2.1): one compressed vector is cached. */
export interface LatentAttention {
  /** kv_lora_rank */
  readonly rank: number;
  /** qk_rope_head_dim */
  readonly ropeDim: number;
  /** q_lora_rank; undefined if queries are not compressed. */
  readonly queryRank: number | undefined;
  /** qk_nope_head_dim */
  readonly nopeDim: number;
  /** v_head_dim */
  readonly valueDim: number;
}

/** Layers with a state of fixed size instead of a key-value cache. */
export interface Recurrent {
  readonly layers: number;
  /** Heads, which tensor parallelism splits. */
  readonly heads: number;
  /** State values per layer and sequence, 32 bits each. */
  readonly state: number;
  /** Inputs kept per layer and sequence for the short convolution. */
  readonly convolution: number;
  /** Total width of the input projections. */
  readonly projected: number;
  /** Input width of the output projection. */
  readonly inner: number;
}

export interface Architecture {
  readonly numLayers: number;
  readonly hiddenSize: number;
  readonly numHeads: number;
  /** Fewer than numHeads: grouped-query attention (arXiv 2305.13245). */
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Of the feed-forward network. */
  readonly intermediateSize: number;
  readonly vocabSize: number;
  /** Whether input and output embeddings share one matrix. */
  readonly tiedEmbeddings: boolean;
  readonly slidingWindow: SlidingWindow | undefined;
  readonly experts: Experts | undefined;
  readonly latentAttention: LatentAttention | undefined;
  readonly recurrent: Recurrent | undefined;
  /** Layers with attention; fewer in hybrids. */
  readonly attentionLayers: number;
  /** Layers with a feed-forward network; fewer if layers have a single purpose. */
  readonly feedForwardLayers: number;
  /** 3 with a gate, 2 without. */
  readonly feedForwardMatrices: 2 | 3;
  /** An output gate, which doubles the width of the query projection (Qwen3-Next). */
  readonly gatedAttention: boolean;
}

type PlainMembers =
  | "slidingWindow"
  | "experts"
  | "latentAttention"
  | "recurrent"
  | "attentionLayers"
  | "feedForwardLayers"
  | "feedForwardMatrices"
  | "gatedAttention";

/** Returns a dense transformer with gated feed-forward network and attention in every layer. */
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

/** Returns the widest feed-forward network that a token passes. */
export function feedForwardWidth({ experts, intermediateSize }: Architecture): number {
  if (!experts) return intermediateSize;
  const routed = (experts.active + experts.shared) * experts.intermediateSize;
  return experts.denseLayers > 0 ? Math.max(routed, intermediateSize) : routed;
}

/** hidden_size / num_layers of the Llama 7B and 13B shapes. */
const ASPECT_RATIO = 128;
/** Usual since Llama 2 70B. */
const USUAL_HEAD_DIM = 128;
const USUAL_KV_HEADS = 8;
const USUAL_VOCABULARY = 128_000;

/** Describes {@link architectureOfSize} in the result. */
export const SIZE_ASSUMPTION =
  "the architecture is estimated from parameters_b: parameters = 12 * num_layers * hidden_size^2 " +
  "(arXiv 2001.08361, 2.1) " +
  `with hidden_size = 128 * num_layers, heads of 128, at most 8 key-value heads, a vocabulary of
    128000; give the architecture for a better estimate`;

/** Returns a typical architecture for a number of parameters. */
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

/** Named after linear_num_key_heads, linear_num_value_heads etc. of config.json. */
interface DeltaNet {
  readonly layers: number;
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly kernel: number;
}

/** Gated DeltaNet (arXiv 2412.06464) as in Qwen3-Next: a matrix of key by value dimension per value head. */
export function gatedDeltaNet({
  layers,
  keyHeads,
  valueHeads,
  keyDim,
  valueDim,
  kernel,
}: DeltaNet): Recurrent {
  const keys = keyHeads * keyDim;
  const values = valueHeads * valueDim;
  return {
    layers,
    heads: keyHeads,
    state: valueHeads * keyDim * valueDim,
    convolution: (2 * keys + values) * (kernel - 1),
    projected: 2 * keys + 2 * values + 2 * valueHeads,
    inner: values,
  };
}

/** Named after mamba_num_heads, mamba_head_dim, n_groups, ssm_state_size and conv_kernel of config.json. */
interface StateSpace {
  readonly layers: number;
  readonly heads: number;
  readonly headDim: number;
  readonly groups: number;
  readonly stateSize: number;
  readonly kernel: number;
}

/** Mamba-2 (arXiv 2405.21060): a matrix of head dimension by state size per head. */
export function mamba2({ layers, heads, headDim, groups, stateSize, kernel }: StateSpace): Recurrent {
  const inner = heads * headDim;
  const convolved = inner + 2 * groups * stateSize;
  return {
    layers,
    heads: groups,
    state: inner * stateSize,
    convolution: convolved * (kernel - 1),
    projected: inner + convolved + heads,
    inner,
  };
}
