import {
  prefillActivations,
  reductionBuffer,
  trainingActivations,
  type Recomputation,
} from "./activations.ts";
import { kvCacheBytes, recurrentStateBytes, type Cached } from "./cache.ts";
import { communicationFixed } from "./tensor-parallel.ts";
import { weightsHeld, type Weights } from "./weights.ts";

/** What memory is asked for. */
export interface Workload extends Weights, Cached {
  /** What training computes again; undefined when serving. */
  readonly training: Recomputation | undefined;
}

/** Bytes on one GPU by purpose. Nothing is counted twice: the total is the sum. */
export interface Memory {
  readonly weights: bigint;
  readonly kvCache: bigint;
  readonly recurrentState: bigint;
  readonly activations: bigint;
  readonly gradients: bigint;
  readonly optimizerState: bigint;
  /** Buffers for talking to the other GPUs. */
  readonly communication: bigint;
  readonly overhead: bigint;
}

/** What every GPU spends on the CUDA context and the libraries' workspaces, in bytes: 512 MiB. */
const FIXED_OVERHEAD = 536_870_912n;
/** The part of everything else that allocators lose to fragments and rounding: one in 20. */
const FRAGMENTATION = 20n;

/** Memory on each of some GPUs that share every layer (tensor parallelism). */
export function memoryOn(workload: Workload, gpus: number): Memory {
  return workload.training === undefined
    ? inferenceMemory(workload, gpus)
    : trainingMemory(workload, workload.training, gpus);
}

/** What a GPU spends whatever its share of the model, in bytes. */
export function fixedBytes(gpus: number): bigint {
  return FIXED_OVERHEAD + communicationFixed(gpus);
}

/** The sum of the parts, in bytes. */
export function totalOf(memory: Memory): bigint {
  return sumOf(memory) + memory.overhead;
}

/** Memory for serving a model. */
function inferenceMemory(workload: Workload, gpus: number): Memory {
  return withOverhead(gpus, {
    weights: weightsHeld(workload, gpus).total,
    kvCache: kvCacheBytes(workload, gpus),
    recurrentState: recurrentStateBytes(workload, gpus),
    activations: prefillActivations(workload, gpus),
    gradients: 0n,
    optimizerState: 0n,
    communication: communicationFixed(gpus) + reductionBuffer(workload, gpus),
  });
}

/**
 * Memory for training all parameters with AdamW. In mixed precision 16 bytes per parameter: 2 for the weight, 2 for its gradient,
 * 12 for a 32-bit copy, momentum and variance (ZeRO, arXiv 1910.02054, 3.1). In float32 as many: 4, 4 and 8.
 */
function trainingMemory(workload: Workload, recomputation: Recomputation, gpus: number): Memory {
  const weights = weightsHeld(workload, gpus).total;
  const single = workload.dtype === "float32";
  return withOverhead(gpus, {
    weights,
    kvCache: 0n,
    recurrentState: 0n,
    activations: trainingActivations(workload, recomputation, gpus),
    gradients: weights,
    optimizerState: weights * (single ? 2n : 6n),
    communication: communicationFixed(gpus) + reductionBuffer(workload, gpus),
  });
}

function withOverhead(gpus: number, parts: Omit<Memory, "overhead">): Memory {
  const rest = sumOf(parts) - communicationFixed(gpus);
  return { ...parts, overhead: FIXED_OVERHEAD + (rest + FRAGMENTATION - 1n) / FRAGMENTATION };
}

function sumOf(parts: Omit<Memory, "overhead">): bigint {
  const { weights, kvCache, recurrentState, activations, gradients, optimizerState, communication } = parts;
  return weights + kvCache + recurrentState + activations + gradients + optimizerState + communication;
}
