import { feedForwardWidth, type Architecture } from "./architecture.ts";
import { bytesOf, computeDtype, type Dtype } from "./dtypes.ts";

/** What memory is asked for. */
export interface Workload {
  readonly architecture: Architecture;
  readonly parameters: number;
  readonly dtype: Dtype;
  readonly kvCacheDtype: Dtype;
  /** Tokens of one sequence, prompt and answer together. */
  readonly contextLength: number;
  /** Sequences at once. */
  readonly batchSize: number;
}

/** How much of the forward pass training computes again instead of keeping it (arXiv 2205.05198). */
export const RECOMPUTATIONS = ["none", "selective", "full"] as const;

/** One of {@link RECOMPUTATIONS}. */
export type Recomputation = (typeof RECOMPUTATIONS)[number];

/** Bytes by purpose. Nothing is counted twice: the total is the sum. */
export interface Memory {
  readonly weights: bigint;
  readonly kvCache: bigint;
  readonly activations: bigint;
  readonly gradients: bigint;
  readonly optimizerState: bigint;
  readonly overhead: bigint;
}

/** What every GPU spends on the CUDA context and the libraries' workspaces, in bytes: 512 MiB. */
export const FIXED_OVERHEAD = 536_870_912n;
/** The part of everything else that allocators lose to fragments and rounding: one in 20. */
const FRAGMENTATION = 20n;
/** Most tokens of prompts that a server processes in one step. */
export const PREFILL_CHUNK = 8_192;

/** Memory for serving a model. */
export function inferenceMemory(workload: Workload): Memory {
  return withOverhead({
    weights: bytesOf(BigInt(workload.parameters), workload.dtype),
    kvCache: kvCacheBytes(workload),
    activations: prefillActivations(workload),
    gradients: 0n,
    optimizerState: 0n,
  });
}

/**
 * Memory for training all parameters with AdamW. In mixed precision 16 bytes per parameter: 2 for the weight, 2 for its gradient,
 * 12 for a 32-bit copy, momentum and variance (ZeRO, arXiv 1910.02054, 3.1). In float32 as many: 4, 4 and 8.
 */
export function trainingMemory(workload: Workload, recomputation: Recomputation): Memory {
  const parameters = BigInt(workload.parameters);
  return withOverhead({
    weights: bytesOf(parameters, workload.dtype),
    kvCache: 0n,
    activations: trainingActivations(workload, recomputation),
    gradients: bytesOf(parameters, workload.dtype),
    optimizerState: parameters * (workload.dtype === "float32" ? 8n : 12n),
  });
}

/** The sum of the parts, in bytes. */
export function totalOf(memory: Memory): bigint {
  return (
    memory.weights + memory.kvCache + memory.activations + memory.gradients + memory.optimizerState + memory.overhead
  );
}

/** Bytes that one more token adds to the cache of one sequence, as long as no window is full. */
export function kvCacheBytesPerToken({ architecture, kvCacheDtype }: Workload): bigint {
  return bytesOf(BigInt(architecture.numLayers) * cachedPerLayer(architecture), kvCacheDtype);
}

function kvCacheBytes({ architecture, kvCacheDtype, contextLength, batchSize }: Workload): bigint {
  const { numLayers, slidingWindow } = architecture;
  const windowed = slidingWindow
    ? BigInt(slidingWindow.layers) * BigInt(Math.min(contextLength, slidingWindow.tokens))
    : 0n;
  const full = BigInt(numLayers - (slidingWindow?.layers ?? 0)) * BigInt(contextLength);
  return bytesOf(BigInt(batchSize) * (windowed + full) * cachedPerLayer(architecture), kvCacheDtype);
}

/** Numbers that a layer keeps of a token: a key and a value per key-value head, or the compressed vector of latent attention. */
function cachedPerLayer({ latentAttention, numKvHeads, headDim }: Architecture): bigint {
  if (latentAttention) return BigInt(latentAttention.rank + latentAttention.ropeDim);
  return 2n * BigInt(numKvHeads) * BigInt(headDim);
}

/** One layer at a time lives: the residual stream, its norm, queries, keys, values, and gate and up of the feed-forward network; then 32-bit logits. */
function prefillActivations({ architecture, dtype, contextLength, batchSize }: Workload): bigint {
  const { hiddenSize, numHeads, numKvHeads, headDim, vocabSize } = architecture;
  const tokens = Math.min(contextLength * batchSize, PREFILL_CHUNK);
  const perToken = 2 * hiddenSize + (numHeads + 2 * numKvHeads) * headDim + 2 * feedForwardWidth(architecture);
  return (
    bytesOf(BigInt(tokens) * BigInt(perToken), computeDtype(dtype)) +
    bytesOf(BigInt(batchSize) * BigInt(vocabSize), "float32")
  );
}

/** Activations in 16 bits by arXiv 2205.05198, equation 1 and table 2, twice that in float32; and the 32-bit logits of the loss. */
function trainingActivations(
  { architecture, dtype, contextLength, batchSize }: Workload,
  recomputation: Recomputation,
): bigint {
  const { numLayers, hiddenSize, numHeads, vocabSize } = architecture;
  const tokens = BigInt(contextLength) * BigInt(batchSize);
  const layers = BigInt(numLayers);
  const plane = tokens * BigInt(hiddenSize);
  const scores = 5n * BigInt(numHeads) * BigInt(contextLength) * tokens;
  const kept = {
    none: layers * (34n * plane + scores),
    selective: layers * 34n * plane,
    // Inputs of all layers, and the one layer that is being computed again.
    full: layers * 2n * plane + 34n * plane + scores,
  }[recomputation];
  return kept * (dtype === "float32" ? 2n : 1n) + bytesOf(tokens * BigInt(vocabSize), "float32");
}

function withOverhead(parts: Omit<Memory, "overhead">): Memory {
  const rest = parts.weights + parts.kvCache + parts.activations + parts.gradients + parts.optimizerState;
  return { ...parts, overhead: FIXED_OVERHEAD + (rest + FRAGMENTATION - 1n) / FRAGMENTATION };
}
