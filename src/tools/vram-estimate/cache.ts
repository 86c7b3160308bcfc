import type { Architecture } from "./architecture.ts";
import { bytesOf, type Dtype } from "./dtypes.ts";
import { kvHeadsPerGpu } from "./weights.ts";

/** What sequences leave behind while they are served. */
export interface Cached {
  readonly architecture: Architecture;
  readonly kvCacheDtype: Dtype;
  /** Tokens of one sequence, prompt and answer together. */
  readonly contextLength: number;
  /** Sequences at once. */
  readonly batchSize: number;
}

/** Bytes that one more token adds to the cache of one sequence, as long as no window is full. */
export function kvCacheBytesPerToken({ architecture, kvCacheDtype }: Cached): bigint {
  return bytesOf(BigInt(architecture.attentionLayers) * cachedPerLayer(architecture, 1), kvCacheDtype);
}

/** Bytes of the key-value cache on each of some GPUs. */
export function kvCacheBytes(
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

/**
 * Bytes of the state of recurrent layers on each of some GPUs: matrices in 32 bits, and the past inputs of their convolution.
 * It has one size for any context.
 */
export function recurrentStateBytes({ architecture, kvCacheDtype, batchSize }: Cached, gpus: number): bigint {
  const { recurrent } = architecture;
  if (!recurrent) return 0n;
  const copies = BigInt(batchSize) * BigInt(recurrent.layers);
  const convolution = kvCacheDtype === "float32" ? "float32" : "float16";
  return (
    bytesOf(copies * BigInt(Math.ceil(recurrent.state / gpus)), "float32") +
    bytesOf(copies * BigInt(Math.ceil(recurrent.convolution / gpus)), convolution)
  );
}

/** Numbers that a layer keeps of a token: a key and a value per key-value head, or the compressed vector of latent attention. */
function cachedPerLayer(architecture: Architecture, gpus: number): bigint {
  const { latentAttention, headDim } = architecture;
  if (latentAttention) return BigInt(latentAttention.rank + latentAttention.ropeDim);
  return 2n * BigInt(kvHeadsPerGpu(architecture, gpus)) * BigInt(headDim);
}
