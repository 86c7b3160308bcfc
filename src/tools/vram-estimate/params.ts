import { z } from "zod";
import { MAX_GPUS } from "./gpus.ts";
import { RECOMPUTATIONS } from "./memory.ts";
import { QUANTIZATIONS } from "./quantization.ts";
import { KV_CACHE_DTYPES, WEIGHT_DTYPES } from "./weights.ts";

/** Parameters of an architecture; the first two are then required. */
export const ARCHITECTURE_MEMBERS = [
  "num_layers",
  "hidden_size",
  "num_attention_heads",
  "num_kv_heads",
  "head_dim",
  "intermediate_size",
  "vocab_size",
] as const;

const width = z.int().min(1).max(1_000_000);
const count = z.int().min(1).max(10_000);

/** workload.ts checks which parameters go together. */
export const vramParams = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe(
        "A published model, e.g. meta-llama/Llama-3.1-8B; instead of parameters_b and the architecture",
      ),
    parameters_b: z
      .number()
      .min(0.000001)
      .max(100_000)
      .optional()
      .describe("Parameters in billions; with or without the architecture"),
    num_layers: count.optional().describe("num_hidden_layers of the config.json"),
    hidden_size: width.optional().describe("hidden_size of the config.json"),
    num_attention_heads: count.optional().describe("Query heads; hidden_size / head_dim when left out"),
    num_kv_heads: count.optional().describe("num_key_value_heads; as many as query heads when left out"),
    head_dim: count
      .optional()
      .describe("Width of a head; hidden_size / num_attention_heads, or 128, when left out"),
    intermediate_size: width
      .optional()
      .describe("Width of the gated feed-forward network; 8/3 of hidden_size when left out"),
    vocab_size: z.int().min(1).max(10_000_000).optional().describe("128000 when left out"),
    dtype: z.enum(WEIGHT_DTYPES).default("float16").describe("Format of the weights"),
    quantization: z
      .enum(QUANTIZATIONS)
      .optional()
      .describe(
        "Format of quantised weights with its scales, inference only; embeddings and norms as the " +
          "format has them",
      ),
    tensor_parallel: z
      .int()
      .min(1)
      .max(MAX_GPUS)
      .optional()
      .describe("GPUs that share every layer; the fewest that hold the model when left out"),
    mode: z
      .enum(["inference", "training"])
      .default("inference")
      .describe("Serving the model, or training all its parameters with AdamW"),
    context_length: z
      .int()
      .min(1)
      .max(10_000_000)
      .optional()
      .describe(
        "Tokens per sequence, prompt and answer together; 4096 when left out, or the model's limit if " +
          "that is less",
      ),
    batch_size: z.int().min(1).max(65_536).default(1).describe("Sequences at once"),
    kv_cache_dtype: z
      .enum(KV_CACHE_DTYPES)
      .optional()
      .describe(
        "Format of the key-value cache, inference only; float32 with float32 weights, else float16, " +
          "when left out",
      ),
    activation_recomputation: z
      .enum(RECOMPUTATIONS)
      .optional()
      .describe(
        "What training computes again in the backward pass instead of keeping it; selective when left out",
      ),
  })
  .meta({ examples: [{ model: "llama-3.1-8b" }] });

export type VramParams = z.output<typeof vramParams>;
