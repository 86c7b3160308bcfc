import type { Architecture } from "./architecture.ts";
import { bytesOf, type Dtype } from "./dtypes.ts";
import { quantisedBytes, unquantisedBytes, type Quantised, type Quantization } from "./quantization.ts";
import { numbersOf, tensorsOf, type Split } from "./tensors.ts";

/** Whose weights, in what format. */
export interface Weights extends Quantised {
  readonly parameters: number;
  /** The part of the parameters in an image encoder: kept in 16 bits, and whole on every GPU. */
  readonly encoderParameters: number;
  readonly dtype: Dtype;
  readonly quantization: Quantization | undefined;
}

/** Bytes of all weights, and the part of them that every GPU holds whole. */
export interface Held {
  readonly total: bigint;
  readonly replicated: bigint;
}

/** vLLM pads the vocabulary to a multiple of this before it splits it. */
const VOCABULARY_PADDING = 64;

/**
 * The weights on each of some GPUs. One GPU holds them all. Several split every matrix by its outputs or inputs
 * (arXiv 1909.08053, section 3) except what {@link Split} keeps whole; key-value heads are copied when they are fewer than GPUs.
 */
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

/** What is the same for any number of GPUs. */
interface Measured {
  /** Bytes that every GPU holds besides the matrices. */
  readonly unsplit: bigint;
  /** The matrices. */
  readonly groups: readonly { readonly bytes: bigint; readonly split: Split }[];
}

/** An estimate asks for the shares of many numbers of GPUs, and a format's types are looked up layer by layer. */
const MEASURED = new WeakMap<Weights, Measured>();

function measure(weights: Weights): Measured {
  const { architecture, parameters, encoderParameters, dtype, quantization } = weights;
  const tensors = tensorsOf(architecture);
  const counted = tensors.reduce((sum, group) => sum + numbersOf(group), 0n);
  const rest = BigInt(parameters - encoderParameters) - counted;
  // A count of parameters that the architecture does not explain scales the whole; a small rest is norms and biases.
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

/** Key-value heads on each GPU: at least one, so that they are copied when there are more GPUs. */
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
