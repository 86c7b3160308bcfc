import type { Architecture } from "./architecture.ts";
import { blockBytes, GGUF_MIXES, ggufBytes } from "./gguf.ts";
import { numbersOf, type Role, type Tensors } from "./tensors.ts";

/** Storage of quantised matrices; everything else stays in 16 bits. */
interface Format {
  /** Bytes per block, with scales and zero points, and weights per block. */
  readonly block: readonly [bytes: number, weights: number];
  /** Additional bytes per output, such as a scale. */
  readonly perOutput?: number;
  /** Additional bytes per input, such as its group number. */
  readonly perInput?: number;
  /** Quantises only the experts of a mixture. */
  readonly expertsOnly?: true;
}

const FORMATS = {
  // A 16-bit scale and a zero point of the weights' width per group; GPTQ adds a 32-bit group number per
  // input.
  "gptq-int4-g128": { block: [133, 256], perInput: 4 },
  "gptq-int4-g32": { block: [37, 64], perInput: 4 },
  "gptq-int8-g128": { block: [131, 128], perInput: 4 },
  "awq-int4-g128": { block: [133, 256] },
  // A 32-bit scale per 64 weights; double quantisation: an 8-bit scale, and 32 bits per 256 scales (arXiv
  // 2305.14314, 3).
  "bnb-nf4": { block: [36, 64] },
  "bnb-nf4-double": { block: [8_452, 16_384] },
  "bnb-int8": { block: [1, 1], perOutput: 4 },
  fp8: { block: [1, 1], perOutput: 4 },
  // A 32-bit scale per 128 by 128 weights (arXiv 2412.19437, 3.3.2).
  "fp8-block128": { block: [16_388, 16_384] },
  // 4 bits and an 8-bit scale per 32 weights (OCP Microscaling Formats 1.0), or per 16.
  mxfp4: { block: [17, 32], expertsOnly: true },
  nvfp4: { block: [9, 16] },
} as const satisfies Record<string, Format>;

type PlainFormat = keyof typeof FORMATS;

const PLAIN_FORMATS = Object.keys(FORMATS).filter((name): name is PlainFormat => name in FORMATS);

const GGUF = GGUF_MIXES.map((mix) => `gguf-${mix}` as const);

export const QUANTIZATIONS = [...PLAIN_FORMATS, ...GGUF] as const;

export type Quantization = (typeof QUANTIZATIONS)[number];

/** Bytes of an unquantised weight. */
const UNQUANTISED = 2n;
/** Bytes of biases and norms in GGUF files. */
const GGUF_UNQUANTISED = 4n;

/** Never quantised outside GGUF: embeddings, head and router. */
const KEPT: ReadonlySet<Role> = new Set(["embedding", "output", "router"]);

export interface Quantised {
  readonly architecture: Architecture;
  readonly shapeGuessed: boolean;
}

/** Bytes of matrices with scales and zero points. */
export function quantisedBytes(format: Quantization, tensors: Tensors, quantised: Quantised): bigint {
  const { architecture, shapeGuessed } = quantised;
  const mix = GGUF_MIXES.find((name) => format === `gguf-${name}`);
  if (mix) return ggufBytes(mix, tensors, architecture, shapeGuessed);
  const plain = PLAIN_FORMATS.find((name) => format === name);
  const numbers = numbersOf(tensors);
  if (!plain) return numbers * UNQUANTISED;
  const { block, perOutput = 0, perInput = 0, expertsOnly }: Format = FORMATS[plain];
  const kept = KEPT.has(tensors.role) || (expertsOnly && architecture.experts && !tensors.expert);
  if (kept) return numbers * UNQUANTISED;
  const matrices = BigInt(tensors.layers) * BigInt(tensors.matrices);
  const besides = BigInt(perOutput) * BigInt(tensors.outputs) + BigInt(perInput) * BigInt(tensors.inputs);
  return blockBytes(numbers, block) + matrices * besides;
}

/** Bytes of biases and norms. */
export function unquantisedBytes(format: Quantization, numbers: bigint): bigint {
  return numbers * (format.startsWith("gguf-") ? GGUF_UNQUANTISED : UNQUANTISED);
}
