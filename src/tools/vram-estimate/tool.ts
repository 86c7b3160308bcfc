import { invalidField } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { MicroUsd } from "../../domain/money.ts";
import type { Tool } from "../../domain/tool.ts";
import { defineTool } from "../define-tool.ts";
import { assumptionsOf } from "./assumptions.ts";
import {
  FIXED_OVERHEAD,
  inferenceMemory,
  kvCacheBytesPerToken,
  totalOf,
  trainingMemory,
  type Memory,
} from "./memory.ts";
import { gpusNeeded, GPUS } from "./gpus.ts";
import { vramParams, type VramParams } from "./params.ts";
import { resolveWorkload, type ResolvedWorkload } from "./resolve-workload.ts";

const GIB = 1_073_741_824;
/** The largest integer that JSON numbers carry exactly. */
const MOST_BYTES = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * `vram_estimate`: GPU memory for serving or training a language model, with the formula's inputs and the GPUs that it fits.
 * @param price what an estimate costs, in micro-USD
 */
export function vramEstimate(price: MicroUsd): Tool {
  return defineTool({
    name: "vram_estimate",
    description:
      "Estimates the GPU memory that a language model needs for inference or training: weights, key-value cache, activations, gradients, optimizer state and overhead, and which GPUs hold it. " +
      "Give a published model, or its number of parameters, or its architecture.",
    scope: "compute:read",
    params: vramParams,
    price,
    check: (params) => void estimate(params),
    run: (params) => {
      const { workload, memory } = estimate(params);
      return resultOf(workload, memory);
    },
  });
}

function estimate(params: VramParams): { workload: ResolvedWorkload; memory: Memory } {
  const workload = resolveWorkload(params);
  const memory =
    workload.mode === "inference" ? inferenceMemory(workload) : trainingMemory(workload, workload.recomputation);
  if (totalOf(memory) <= MOST_BYTES) return { workload, memory };
  throw invalidField("params", "the estimate exceeds 8 PiB; lower batch_size, context_length or the size of the model");
}

function resultOf(workload: ResolvedWorkload, memory: Memory): JsonObject {
  const total = totalOf(memory);
  return {
    model: workload.model?.id ?? null,
    mode: workload.mode,
    weights: sizeOf(memory.weights),
    kv_cache: sizeOf(memory.kvCache),
    activations: sizeOf(memory.activations),
    gradients: sizeOf(memory.gradients),
    optimizer_state: sizeOf(memory.optimizerState),
    overhead: sizeOf(memory.overhead),
    total: sizeOf(total),
    kv_cache_bytes_per_token: workload.mode === "inference" ? Number(kvCacheBytesPerToken(workload)) : 0,
    inputs: inputsOf(workload),
    assumptions: assumptionsOf(workload),
    gpus: GPUS.map((gpu) => {
      const needed = gpusNeeded(gpu, total, FIXED_OVERHEAD);
      return { name: gpu.name, memory_gib: gib(gpu.memoryMib * 1_048_576), fits: needed === 1, needed };
    }),
  };
}

/** What the formulas were given. */
function inputsOf(workload: ResolvedWorkload): JsonObject {
  const { architecture, model, mode } = workload;
  const { slidingWindow, experts, latentAttention } = architecture;
  return {
    parameters: workload.parameters,
    ...(model?.activeParametersB === undefined ? {} : { active_parameters_b: model.activeParametersB }),
    num_layers: architecture.numLayers,
    hidden_size: architecture.hiddenSize,
    num_attention_heads: architecture.numHeads,
    num_kv_heads: architecture.numKvHeads,
    head_dim: architecture.headDim,
    intermediate_size: architecture.intermediateSize,
    vocab_size: architecture.vocabSize,
    ...(slidingWindow ? { sliding_window: { tokens: slidingWindow.tokens, layers: slidingWindow.layers } } : {}),
    ...(experts
      ? {
          experts: {
            count: experts.count,
            active: experts.active,
            shared: experts.shared,
            intermediate_size: experts.intermediateSize,
          },
        }
      : {}),
    ...(latentAttention
      ? { latent_attention: { kv_lora_rank: latentAttention.rank, qk_rope_head_dim: latentAttention.ropeDim } }
      : {}),
    ...(model
      ? {
          max_context_length: model.maxContext,
          source: `config.json and model card at https://huggingface.co/${model.id}`,
        }
      : {}),
    dtype: workload.dtype,
    ...(mode === "inference"
      ? { kv_cache_dtype: workload.kvCacheDtype }
      : { activation_recomputation: workload.recomputation }),
    context_length: workload.contextLength,
    batch_size: workload.batchSize,
  };
}

function sizeOf(bytes: bigint): JsonObject {
  return { bytes: Number(bytes), gib: gib(Number(bytes)) };
}

/** GiB with three decimal places, for people; the bytes are exact. */
function gib(bytes: number): number {
  return Math.round((bytes / GIB) * 1_000) / 1_000;
}
