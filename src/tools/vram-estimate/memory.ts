import { type Architecture, feedForwardWidth } from "./architecture.ts";
import { communicationFixed } from "./gpus.ts";
import { bytesOf, computeDtype, type Dtype, kvHeadsPerGpu, type Weights, weightsHeld } from "./weights.ts";

export interface Workload extends Weights, Cached {
  /** Undefined for inference. */
  readonly training: Recomputation | undefined;
}

/** Bytes per GPU by purpose; the total is the sum. */
export interface Memory {
  readonly weights: bigint;
  readonly kvCache: bigint;
  readonly recurrentState: bigint;
  readonly activations: bigint;
  readonly gradients: bigint;
  readonly optimizerState: bigint;
  readonly communication: bigint;
  readonly overhead: bigint;
}

/** CUDA context and library workspaces, bytes: 512 MiB. */
const FIXED_OVERHEAD = 536_870_912n;
/** Fragmentation: one part in 20 of everything else. */
const FRAGMENTATION = 20n;

export function memoryOn(workload: Workload, gpus: number): Memory {
  return workload.training === undefined
    ? inferenceMemory(workload, gpus)
    : trainingMemory(workload, workload.training, gpus);
}

/** Returns the bytes that do not depend on the share of the model. */
export function fixedBytes(gpus: number): bigint {
  return FIXED_OVERHEAD + communicationFixed(gpus);
}

export function totalOf(memory: Memory): bigint {
  return sumOf(memory) + memory.overhead;
}

function inferenceMemory(workload: Workload, gpus: number): Memory {
  return withOverhead(gpus, {
    weights: weightsHeld(workload, gpus).total,
    kvCache: kvCacheBytes(workload, gpus),
    recurrentState: recurrentStateBytes(workload, gpus),
    activations: prefillActivations(workload, gpus),
    gradients: 0n,
    optimizerState: 0n,
    communication: communicationFixed(gpus) + reductionBuffer(workload, gpus),
  });
}

/**
 * Training of all parameters with AdamW. Mixed precision: 16 bytes per parameter, of which 2 for the
 * weight, 2 for its gradient and 12 for a 32-bit copy, momentum and variance (ZeRO, arXiv 1910.02054, 3.1).
 * float32: 4, 4 and 8.
 */
function trainingMemory(workload: Workload, recomputation: Recomputation, gpus: number): Memory {
  const weights = weightsHeld(workload, gpus).total;
  const single = workload.dtype === "float32";
  return withOverhead(gpus, {
    weights,
    kvCache: 0n,
    recurrentState: 0n,
    activations: trainingActivations(workload, recomputation, gpus),
    gradients: weights,
    optimizerState: weights * (single ? 2n : 6n),
    communication: communicationFixed(gpus) + reductionBuffer(workload, gpus),
  });
}

function withOverhead(gpus: number, parts: Omit<Memory, "overhead">): Memory {
  const rest = sumOf(parts) - communicationFixed(gpus);
  return { ...parts, overhead: FIXED_OVERHEAD + (rest + FRAGMENTATION - 1n) / FRAGMENTATION };
}

function sumOf(parts: Omit<Memory, "overhead">): bigint {
  const { weights, kvCache, recurrentState, activations, gradients, optimizerState, communication } = parts;
  return weights + kvCache + recurrentState + activations + gradients + optimizerState + communication;
}

export interface Computed {
  readonly architecture: Architecture;
  readonly dtype: Dtype;
  readonly contextLength: number;
  readonly batchSize: number;
}

/** Activation recomputation (arXiv 2205.05198). */
export const RECOMPUTATIONS = ["none", "selective", "full"] as const;

export type Recomputation = (typeof RECOMPUTATIONS)[number];

/** Prompt tokens per step. */
export const PREFILL_CHUNK = 8_192;

/**
 * Peak of one layer: residual stream and norm, whole on every GPU; queries, keys, values, gate and up
 * projection, split; plus 32-bit logits on every GPU.
 */
function prefillActivations(computed: Computed, gpus: number): bigint {
  const { architecture, dtype, batchSize } = computed;
  const { hiddenSize, numHeads, headDim, vocabSize } = architecture;
  const heads = Math.ceil(numHeads / gpus) + 2 * kvHeadsPerGpu(architecture, gpus);
  const perToken = 2 * hiddenSize + heads * headDim + 2 * Math.ceil(feedForwardWidth(architecture) / gpus);
  return (
    bytesOf(BigInt(chunkOf(computed)) * BigInt(perToken), computeDtype(dtype)) +
    bytesOf(BigInt(batchSize) * BigInt(vocabSize), "float32")
  );
}

/** All-reduce buffer: the residual stream of one step. */
function reductionBuffer(computed: Computed, gpus: number): bigint {
  if (gpus === 1) return 0n;
  return bytesOf(
    BigInt(chunkOf(computed)) * BigInt(computed.architecture.hiddenSize),
    computeDtype(computed.dtype),
  );
}

/** Activations in 16 bits (arXiv 2205.05198, equations 1 and 2, table 2), and 32-bit logits. */
function trainingActivations(computed: Computed, recomputation: Recomputation, gpus: number): bigint {
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
    // Inputs of all layers, and the layer being recomputed.
    full: layers * 2n * plane + linear + scores,
  }[recomputation];
  const vocabulary = BigInt(Math.ceil(vocabSize / gpus));
  return kept * (dtype === "float32" ? 2n : 1n) + bytesOf(tokens * vocabulary, "float32");
}

function chunkOf({ contextLength, batchSize }: Computed): number {
  return Math.min(contextLength * batchSize, PREFILL_CHUNK);
}

export interface Cached {
  readonly architecture: Architecture;
  readonly kvCacheDtype: Dtype;
  /** Tokens per sequence, prompt and answer. */
  readonly contextLength: number;
  /** Concurrent sequences. */
  readonly batchSize: number;
}

/** Bytes per token and sequence while no window is full. */
export function kvCacheBytesPerToken({ architecture, kvCacheDtype }: Cached): bigint {
  return bytesOf(BigInt(architecture.attentionLayers) * cachedPerLayer(architecture, 1), kvCacheDtype);
}

/** Bytes per GPU. */
function kvCacheBytes(
  { architecture, kvCacheDtype, contextLength, batchSize }: Cached,
  gpus: number,
): bigint {
  const { attentionLayers, slidingWindow } = architecture;
  const windowed = slidingWindow
    ? BigInt(slidingWindow.layers) * BigInt(Math.min(contextLength, slidingWindow.tokens))
    : 0n;
  const full = BigInt(attentionLayers - (slidingWindow?.layers ?? 0)) * BigInt(contextLength);
  return bytesOf(BigInt(batchSize) * (windowed + full) * cachedPerLayer(architecture, gpus), kvCacheDtype);
}

/** Bytes per GPU of recurrent state (32 bits) and convolution inputs, whatever the context length. */
function recurrentStateBytes({ architecture, kvCacheDtype, batchSize }: Cached, gpus: number): bigint {
  const { recurrent } = architecture;
  if (!recurrent) return 0n;
  const copies = BigInt(batchSize) * BigInt(recurrent.layers);
  const convolution = kvCacheDtype === "float32" ? "float32" : "float16";
  return (
    bytesOf(copies * BigInt(Math.ceil(recurrent.state / gpus)), "float32") +
    bytesOf(copies * BigInt(Math.ceil(recurrent.convolution / gpus)), convolution)
  );
}

/** Values per token and layer: key and value of each head, or the compressed vector of latent attention. */
function cachedPerLayer(architecture: Architecture, gpus: number): bigint {
  const { latentAttention, headDim } = architecture;
  if (latentAttention) return BigInt(latentAttention.rank + latentAttention.ropeDim);
  return 2n * BigInt(kvHeadsPerGpu(architecture, gpus)) * BigInt(headDim);
}
