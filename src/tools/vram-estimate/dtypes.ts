/** Bits of one number. */
const BITS = { float32: 32, float16: 16, bfloat16: 16, float8: 8, int8: 8, int4: 4 } as const;

/** A number format. */
export type Dtype = keyof typeof BITS;

/** Formats for weights. */
export const WEIGHT_DTYPES = [
  "float32",
  "float16",
  "bfloat16",
  "int8",
  "int4",
] as const satisfies readonly Dtype[];

/** Formats for the key-value cache. */
export const KV_CACHE_DTYPES = [
  "float32",
  "float16",
  "bfloat16",
  "float8",
  "int8",
  "int4",
] as const satisfies readonly Dtype[];

/** Bytes of that many numbers, rounded up. */
export function bytesOf(numbers: bigint, dtype: Dtype): bigint {
  return (numbers * BigInt(BITS[dtype]) + 7n) / 8n;
}

/** The format that activations are computed in: weights that are quantised are still multiplied in 16 bits. */
export function computeDtype(weights: Dtype): "float32" | "float16" {
  return weights === "float32" ? "float32" : "float16";
}
