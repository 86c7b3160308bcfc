import type { JsonObject } from "../../domain/core/json.ts";
import type { Architecture } from "./architecture.ts";
import type { ResolvedWorkload } from "./resolve-workload.ts";
import { countActiveParameters } from "./tensors.ts";
import { weightsHeld } from "./weights.ts";

/** What the formulas were given. */
export function inputsOf(workload: ResolvedWorkload): JsonObject {
  const { architecture, model, mode, parameters } = workload;
  return {
    parameters,
    active_parameters: countActiveParameters(architecture, parameters),
    ...(model?.activeParametersB === undefined ? {} : { active_parameters_b: model.activeParametersB }),
    num_layers: architecture.numLayers,
    hidden_size: architecture.hiddenSize,
    num_attention_heads: architecture.numHeads,
    num_kv_heads: architecture.numKvHeads,
    head_dim: architecture.headDim,
    intermediate_size: architecture.intermediateSize,
    vocab_size: architecture.vocabSize,
    ...specialOf(architecture),
    ...(model
      ? {
          max_context_length: model.maxContext,
          source: `config.json and model card at https://huggingface.co/${model.id}`,
        }
      : {}),
    dtype: workload.dtype,
    ...(workload.quantization === undefined ? {} : { quantization: workload.quantization }),
    bits_per_weight: bitsPerWeight(workload),
    ...(mode === "inference"
      ? { kv_cache_dtype: workload.kvCacheDtype }
      : { activation_recomputation: workload.recomputation }),
    context_length: workload.contextLength,
    batch_size: workload.batchSize,
    ...(workload.tensorParallel === undefined ? {} : { tensor_parallel: workload.tensorParallel }),
  };
}

/** What only some architectures have. */
function specialOf(architecture: Architecture): JsonObject {
  const { slidingWindow, experts, latentAttention, recurrent, attentionLayers, numLayers } = architecture;
  return {
    ...(attentionLayers === numLayers ? {} : { attention_layers: attentionLayers }),
    ...(slidingWindow
      ? { sliding_window: { tokens: slidingWindow.tokens, layers: slidingWindow.layers } }
      : {}),
    ...(experts
      ? {
          experts: {
            count: experts.count,
            active: experts.active,
            shared: experts.shared,
            intermediate_size: experts.intermediateSize,
            dense_layers: experts.denseLayers,
          },
        }
      : {}),
    ...(latentAttention
      ? {
          latent_attention: { kv_lora_rank: latentAttention.rank, qk_rope_head_dim: latentAttention.ropeDim },
        }
      : {}),
    ...(recurrent
      ? {
          recurrent: { layers: recurrent.layers, state: recurrent.state, convolution: recurrent.convolution },
        }
      : {}),
  };
}

/** Bits of a weight on average, scales and all, with three decimal places. */
function bitsPerWeight(workload: ResolvedWorkload): number {
  const bits = Number(weightsHeld(workload, 1).total) * 8;
  return Math.round((bits / workload.parameters) * 1_000) / 1_000;
}
