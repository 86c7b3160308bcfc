import { feedForwardWidth, type Architecture } from "./architecture.ts";
import { bytesOf, computeDtype, type Dtype } from "./dtypes.ts";
import { kvHeadsPerGpu } from "./weights.ts";

/** What is computed at once. */
export interface Computed {
  readonly architecture: Architecture;
  readonly dtype: Dtype;
  readonly contextLength: number;
  readonly batchSize: number;
}

/** How much of the forward pass training computes again instead of keeping it (arXiv 2205.05198). */
export const RECOMPUTATIONS = ["none", "selective", "full"] as const;

/** One of {@link RECOMPUTATIONS}. */
export type Recomputation = (typeof RECOMPUTATIONS)[number];

/** Most tokens of prompts that a server processes in one step. */
export const PREFILL_CHUNK = 8_192;

/**
 * One layer at a time lives: the residual stream and its norm, whole on every GPU; queries, keys, values, and gate and up of the
 * feed-forward network, split; then 32-bit logits, gathered on every GPU.
 */
export function prefillActivations(computed: Computed, gpus: number): bigint {
  const { architecture, dtype, batchSize } = computed;
  const { hiddenSize, numHeads, headDim, vocabSize } = architecture;
  const heads = Math.ceil(numHeads / gpus) + 2 * kvHeadsPerGpu(architecture, gpus);
  const perToken = 2 * hiddenSize + heads * headDim + 2 * Math.ceil(feedForwardWidth(architecture) / gpus);
  return (
    bytesOf(BigInt(chunkOf(computed)) * BigInt(perToken), computeDtype(dtype)) +
    bytesOf(BigInt(batchSize) * BigInt(vocabSize), "float32")
  );
}

/** The buffer in which GPUs add up what each computed of a layer: the residual stream of one step. */
export function reductionBuffer(computed: Computed, gpus: number): bigint {
  if (gpus === 1) return 0n;
  return bytesOf(
    BigInt(chunkOf(computed)) * BigInt(computed.architecture.hiddenSize),
    computeDtype(computed.dtype),
  );
}

/**
 * Activations in 16 bits by arXiv 2205.05198, equations 1 and 2 and table 2, twice that in float32; and the 32-bit logits of the loss.
 * Of 34 units per layer tensor parallelism splits 24, and the attention scores; the inputs of a layer are whole on every GPU.
 */
export function trainingActivations(computed: Computed, recomputation: Recomputation, gpus: number): bigint {
  const { architecture, dtype, contextLength, batchSize } = computed;
  const { numLayers, hiddenSize, numHeads, vocabSize } = architecture;
  const tokens = BigInt(contextLength) * BigInt(batchSize);
  const layers = BigInt(numLayers);
  const plane = tokens * BigInt(hiddenSize);
  const split = BigInt(gpus);
  const linear = 10n * plane + (24n * plane + split - 1n) / split;
  const scores = (5n * BigInt(numHeads) * BigInt(contextLength) * tokens + split - 1n) / split;
  const kept = {
    none: layers * (linear + scores),
    selective: layers * linear,
    // Inputs of all layers, and the one layer that is being computed again.
    full: layers * 2n * plane + linear + scores,
  }[recomputation];
  const vocabulary = BigInt(Math.ceil(vocabSize / gpus));
  return kept * (dtype === "float32" ? 2n : 1n) + bytesOf(tokens * vocabulary, "float32");
}

function chunkOf({ contextLength, batchSize }: Computed): number {
  return Math.min(contextLength * batchSize, PREFILL_CHUNK);
}
