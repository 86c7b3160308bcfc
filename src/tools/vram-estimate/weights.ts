import type { Architecture } from "./architecture.ts";
import { type Quantised, quantisedBytes, type Quantization, unquantisedBytes } from "./quantization.ts";
import { numbersOf, type Split, tensorsOf } from "./tensors.ts";

const BITS = { float32: 32, float16: 16, bfloat16: 16, float8: 8, int8: 8, int4: 4 } as const;

export type Dtype = keyof typeof BITS;

export const WEIGHT_DTYPES = [
  "float32",
  "float16",
  "bfloat16",
  "int8",
  "int4",
] as const satisfies readonly Dtype[];

export const KV_CACHE_DTYPES = [
  "float32",
  "float16",
  "bfloat16",
  "float8",
  "int8",
  "int4",
] as const satisfies readonly Dtype[];

/** Bytes, rounded up. */
export function bytesOf(numbers: bigint, dtype: Dtype): bigint {
  return (numbers * BigInt(BITS[dtype]) + 7n) / 8n;
}

/** Quantised weights are multiplied in 16 bits. */
export function computeDtype(weights: Dtype): "float32" | "float16" {
  return weights === "float32" ? "float32" : "float16";
}

export interface Weights extends Quantised {
  readonly parameters: number;
  /** Parameters of an image encoder: 16 bits, whole on every GPU. */
  readonly encoderParameters: number;
  readonly dtype: Dtype;
  readonly quantization: Quantization | undefined;
}

/** Bytes of all weights per GPU, and the part replicated on every GPU. */
export interface Held {
  readonly total: bigint;
  readonly replicated: bigint;
}

/** vLLM pads the vocabulary to a multiple of this before splitting it. */
const VOCABULARY_PADDING = 64;

/** Returns the weights per GPU (arXiv 1909.08053, section 3); {@link Split}: which matrices are split. */
export function weightsHeld(weights: Weights, gpus: number): Held {
  if (gpus === 1 && !weights.quantization)
    return { total: bytesOf(BigInt(weights.parameters), weights.dtype), replicated: 0n };
  let measured = MEASURED.get(weights);
  if (!measured) {
    measured = measure(weights);
    MEASURED.set(weights, measured);
  }
  const { unsplit, groups } = measured;
  let total = unsplit;
  let replicated = unsplit;
  for (const { bytes, split } of groups) {
    const held = share(bytes, split, weights.architecture, gpus);
    total += held;
    if (split === "whole") replicated += held;
  }
  return { total, replicated: gpus === 1 ? 0n : replicated };
}

/** Independent of the number of GPUs. */
interface Measured {
  /** Bytes besides the matrices, on every GPU. */
  readonly unsplit: bigint;
  readonly groups: readonly { readonly bytes: bigint; readonly split: Split }[];
}

/** Cached: an estimate tries many numbers of GPUs, and GGUF types are looked up per layer. */
const MEASURED = new WeakMap<Weights, Measured>();

function measure(weights: Weights): Measured {
  const { architecture, parameters, encoderParameters, dtype, quantization } = weights;
  const tensors = tensorsOf(architecture);
  const counted = tensors.reduce((sum, group) => sum + numbersOf(group), 0n);
  const rest = BigInt(parameters - encoderParameters) - counted;
  // A large unexplained rest scales all matrices; a small one is norms and biases.
  const explained = rest >= 0n && rest * 50n <= counted;
  const inFormat = (numbers: bigint) =>
    quantization ? unquantisedBytes(quantization, numbers) : bytesOf(numbers, dtype);
  const encoder = BigInt(encoderParameters) * 2n;
  const unsplit =
    (explained ? inFormat(rest) : 0n) + (quantization ? encoder : bytesOf(BigInt(encoderParameters), dtype));
  const groups = tensors.map((group) => {
    const bytes = quantization
      ? quantisedBytes(quantization, group, weights)
      : bytesOf(numbersOf(group), dtype);
    return {
      bytes: explained ? bytes : (bytes * BigInt(parameters - encoderParameters)) / counted,
      split: group.split,
    };
  });
  return { unsplit, groups };
}

/** At least one: heads are copied if there are more GPUs. */
export function kvHeadsPerGpu({ numKvHeads }: Architecture, gpus: number): number {
  return Math.max(1, Math.ceil(numKvHeads / gpus));
}

/** Bytes of one GPU's share, rounded up. */
function share(bytes: bigint, split: Split, architecture: Architecture, gpus: number): bigint {
  if (gpus === 1 || split === "whole") return bytes;
  const { vocabSize, numKvHeads } = architecture;
  const padded = Math.ceil(vocabSize / VOCABULARY_PADDING) * VOCABULARY_PADDING;
  const parts = {
    even: [1, gpus],
    vocabulary: [Math.ceil(padded / gpus), vocabSize],
    kv_heads: [kvHeadsPerGpu(architecture, gpus), numKvHeads],
  } as const;
  const [part, whole] = parts[split];
  return (bytes * BigInt(part) + BigInt(whole) - 1n) / BigInt(whole);
}
