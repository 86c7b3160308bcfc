import type { JsonObject } from "../../domain/core/json.ts";
import type { Architecture } from "./architecture.ts";
import { assumptionsOf } from "./assumptions.ts";
import { feasible, GPUS, type Placement, placementOn, type Share } from "./gpus.ts";
import { fixedBytes, kvCacheBytesPerToken, type Memory, memoryOn, totalOf } from "./memory.ts";
import { countActiveParameters } from "./tensors.ts";
import { kvHeadsPerGpu, weightsHeld } from "./weights.ts";
import type { ResolvedWorkload } from "./workload.ts";

const GIB = 1_073_741_824;
const MIB = 1_048_576;

const MEMORY_GIB = GPUS.map(({ memoryMib }) => gib(memoryMib * MIB));
/** Bytes. */
const SMALLEST = BigInt(Math.min(...GPUS.map(({ memoryMib }) => memoryMib)) * MIB);

/** Returns the estimate as described in docs/reference/tools.md. */
export function resultOf(workload: ResolvedWorkload): JsonObject {
  const { communication: _none, ...whole } = sizesOf(memoryOn(workload, 1));
  return {
    model: workload.model?.id ?? null,
    mode: workload.mode,
    ...whole,
    kv_cache_bytes_per_token: workload.mode === "inference" ? Number(kvCacheBytesPerToken(workload)) : 0,
    per_gpu: perGpu(workload, workload.tensorParallel ?? 1),
    inputs: inputsOf(workload),
    assumptions: assumptionsOf(workload),
    gpus: gpusFor(workload),
  };
}

function perGpu(workload: ResolvedWorkload, gpus: number): JsonObject {
  const { architecture } = workload;
  return {
    tensor_parallel: gpus,
    kv_heads: architecture.latentAttention ? architecture.numKvHeads : kvHeadsPerGpu(architecture, gpus),
    replicated_weights: sizeOf(weightsHeld(workload, gpus).replicated),
    ...sizesOf(memoryOn(workload, gpus)),
  };
}

function gpusFor(workload: ResolvedWorkload): JsonObject[] {
  const shareOn = (tensorParallel: number): Share => ({
    tensorParallel,
    total: totalOf(memoryOn(workload, tensorParallel)),
    fixed: fixedBytes(tensorParallel),
  });
  const [first = 1, ...more] =
    workload.tensorParallel === undefined ? feasible(workload) : [workload.tensorParallel];
  const shares: [Share, ...Share[]] = [shareOn(first)];
  for (const gpus of more) {
    // A size that fits the smallest GPU fits all.
    if ((shares.at(-1)?.total ?? 0n) <= SMALLEST) break;
    shares.push(shareOn(gpus));
  }
  const placements = new Map<number, Placement>();
  return GPUS.map((gpu, index) => {
    // Many GPUs have equal memory.
    const placement = placements.get(gpu.memoryMib) ?? placementOn(gpu, shares);
    placements.set(gpu.memoryMib, placement);
    const { needed, tensorParallel, pipelineParallel } = placement;
    return {
      name: gpu.name,
      memory_gib: MEMORY_GIB[index] ?? 0,
      fits: needed === (workload.tensorParallel ?? 1),
      needed,
      tensor_parallel: tensorParallel,
      pipeline_parallel: pipelineParallel,
    };
  });
}

function sizesOf(memory: Memory) {
  return {
    weights: sizeOf(memory.weights),
    kv_cache: sizeOf(memory.kvCache),
    recurrent_state: sizeOf(memory.recurrentState),
    activations: sizeOf(memory.activations),
    gradients: sizeOf(memory.gradients),
    optimizer_state: sizeOf(memory.optimizerState),
    communication: sizeOf(memory.communication),
    overhead: sizeOf(memory.overhead),
    total: sizeOf(totalOf(memory)),
  };
}

function sizeOf(bytes: bigint): JsonObject {
  return { bytes: Number(bytes), gib: gib(Number(bytes)) };
}

/** Rounded to three decimal places; the bytes are exact. */
function gib(bytes: number): number {
  return Math.round((bytes / GIB) * 1_000) / 1_000;
}

function inputsOf(workload: ResolvedWorkload): JsonObject {
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

/** Average bits per weight including scales, three decimal places. */
function bitsPerWeight(workload: ResolvedWorkload): number {
  const bits = Number(weightsHeld(workload, 1).total) * 8;
  return Math.round((bits / workload.parameters) * 1_000) / 1_000;
}
