import { PREFILL_CHUNK } from "./memory.ts";
import type { ResolvedWorkload } from "./workload.ts";

/** Returns the formulas in words, with their omissions. */
export function assumptionsOf(workload: ResolvedWorkload): string[] {
  return [
    ...workload.assumptions,
    ...(workload.mode === "inference" ? servingAssumptions(workload) : trainingAssumptions(workload)),
    ...modelAssumptions(workload),
    "overhead: 512 MiB per GPU for the CUDA context and workspaces, and 5 % of everything else for " +
      "fragmentation",
    "tensor parallelism as vLLM does it: matrices are split by heads, feed-forward width and " +
      "vocabulary; norms, biases, routers, image encoders and the projections into latent vectors are " +
      "whole on every GPU; key-value heads are copied when they are fewer than GPUs",
    "communication: NCCL's buffers as measured (342 MiB between two GPUs, 392 MiB between more) and " +
      "one buffer of a step's residual stream; total is for one GPU, per_gpu has the share",
    "gpus: the fewest that hold the model with tensor parallelism; where the heads allow no more of " +
      "it, layers go through equal groups one after the other, embeddings and buffers divided evenly",
  ];
}

function servingAssumptions(workload: ResolvedWorkload): string[] {
  const { architecture } = workload;
  return [
    ...weightAssumptions(workload),
    architecture.latentAttention
      ? "kv_cache: batch_size * num_layers * context_length * (kv_lora_rank + qk_rope_head_dim) * bytes " +
        "of kv_cache_dtype, whole on every GPU; servers that expand the latent vectors need more"
      : "kv_cache: batch_size * layers with attention * context_length * 2 * num_kv_heads * head_dim * " +
        "bytes of kv_cache_dtype, full for every sequence",
    ...(architecture.slidingWindow
      ? [
          "layers with a sliding window keep at most its tokens; servers that do not use the window " +
            "keep the whole context",
        ]
      : []),
    ...(architecture.recurrent
      ? [
          "recurrent_state: batch_size * recurrent layers * (state in 32 bits and convolution in 16 " +
            "bits), the same for any context_length",
        ]
      : []),
    "activations: the peak of one layer with fused attention, prompts processed in chunks of at most " +
      `${PREFILL_CHUNK} tokens, and 32-bit logits of one token per sequence`,
    "memory that a server reserves in advance, CUDA graphs, adapters and speculative decoding are not " +
      "modelled",
  ];
}

function weightAssumptions({ dtype, quantization }: ResolvedWorkload): string[] {
  if (quantization?.startsWith("gguf-")) {
    return [
      "weights: each tensor in the type that llama-quantize gives it, with its block's scales; norms, " +
        "biases and routers in 32 bits, an image encoder in 16",
    ];
  }
  if (quantization) {
    return [
      "weights: matrices in the format with its scales and zero points; embeddings, output head, " +
        "routers, norms, biases and an image encoder in 16 bits",
    ];
  }
  const scales = [
    "the scales and zero points of quantised weights and layers kept in 16 bits are not modelled with " +
      "dtype int8 and int4; give quantization instead",
  ];
  return ["weights: parameters * bits of dtype / 8", ...(dtype === "int8" || dtype === "int4" ? scales : [])];
}

function trainingAssumptions({ dtype, recomputation }: ResolvedWorkload): string[] {
  const kept = {
    none: "num_layers * s * b * h * (34 + 5 * a * s / h) bytes",
    selective:
      "num_layers * s * b * h * 34 bytes, attention scores are computed again as fused attention does",
    full: "num_layers * s * b * h * 2 bytes and one whole layer, layers are computed again from their inputs",
  }[recomputation];
  return [
    dtype === "float32"
      ? "AdamW in float32, 16 bytes per parameter: 4 weight, 4 gradient, 8 optimizer state (momentum, " +
        "variance)"
      : "AdamW in mixed precision, 16 bytes per parameter: 2 weight, 2 gradient, 12 optimizer state " +
        "(32-bit copy, momentum, variance; arXiv 1910.02054, 3.1)",
    `activations: ${kept}${dtype === "float32" ? ", twice that in float32" : ""} (arXiv 2205.05198; s ` +
      "context_length, b batch_size, h hidden_size, a num_attention_heads), and 32-bit logits",
    "all parameters are trained; adapters, 8-bit optimizers, sharded or offloaded states and gradient " +
      "accumulation buffers are not modelled",
  ];
}

function modelAssumptions({ architecture, model, mode }: ResolvedWorkload): string[] {
  return [
    ...(architecture.experts
      ? ["all experts are in memory; only activations depend on how many are active"]
      : []),
    ...(architecture.experts && mode === "training"
      ? ["the activations formula is that of a dense network; the buffers of routed tokens are not modelled"]
      : []),
    ...(model && model.encoderParameters > 0
      ? ["the image encoder's weights are included, its activations and the tokens of images are not"]
      : []),
  ];
}
