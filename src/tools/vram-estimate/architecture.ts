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
}

/** The shape of a decoder-only transformer. */
export interface Architecture {
  readonly numLayers: number;
  readonly hiddenSize: number;
  readonly numHeads: number;
  /** Fewer than numHeads: grouped-query attention (arXiv 2305.13245). */
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Width of the gated feed-forward network. */
  readonly intermediateSize: number;
  readonly vocabSize: number;
  /** Whether input and output embeddings are one matrix. */
  readonly tiedEmbeddings: boolean;
  readonly slidingWindow: SlidingWindow | undefined;
  readonly experts: Experts | undefined;
  readonly latentAttention: LatentAttention | undefined;
}

/** The parameters in the matrices of a model without latent attention; biases and norms (some thousandths of a percent) are left out. */
export function countParameters(architecture: Architecture): number {
  const { numLayers, hiddenSize, numHeads, numKvHeads, headDim, intermediateSize, vocabSize, tiedEmbeddings, experts } =
    architecture;
  const embeddings = (tiedEmbeddings ? 1 : 2) * vocabSize * hiddenSize;
  const attention = hiddenSize * headDim * 2 * (numHeads + numKvHeads);
  const dense = 3 * hiddenSize * intermediateSize;
  if (!experts) return embeddings + numLayers * (attention + dense);
  const router = hiddenSize * experts.count;
  const mixture = 3 * hiddenSize * experts.intermediateSize * (experts.count + experts.shared) + router;
  return embeddings + numLayers * attention + experts.denseLayers * dense + (numLayers - experts.denseLayers) * mixture;
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
  return {
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads: Math.min(USUAL_KV_HEADS, numHeads),
    headDim: USUAL_HEAD_DIM,
    intermediateSize: usualIntermediateSize(hiddenSize),
    vocabSize: USUAL_VOCABULARY,
    tiedEmbeddings: false,
    slidingWindow: undefined,
    experts: undefined,
    latentAttention: undefined,
  };
}

/** A gated network with as many parameters as a plain one of width 4 * hidden_size (arXiv 2002.05202). */
export function usualIntermediateSize(hiddenSize: number): number {
  return Math.ceil((8 * hiddenSize) / 3);
}
