import type { JsonObject } from "../../domain/core/json.ts";
import { assumptionsOf } from "./assumptions.ts";
import { kvCacheBytesPerToken } from "./cache.ts";
import { GPUS } from "./gpu-table.ts";
import { placementOn, type Placement, type Share } from "./gpus.ts";
import { inputsOf } from "./inputs.ts";
import { fixedBytes, memoryOn, totalOf, type Memory } from "./memory.ts";
import type { ResolvedWorkload } from "./resolve-workload.ts";
import { feasible } from "./tensor-parallel.ts";
import { kvHeadsPerGpu, weightsHeld } from "./weights.ts";

const GIB = 1_073_741_824;
const MIB = 1_048_576;

const MEMORY_GIB = GPUS.map(({ memoryMib }) => gib(memoryMib * MIB));
/** Bytes of the smallest GPU. */
const SMALLEST = BigInt(Math.min(...GPUS.map(({ memoryMib }) => memoryMib)) * MIB);

/** The estimate as docs/reference/tools.md describes it. */
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
    // A share that fits the smallest GPU fits them all.
    if ((shares.at(-1)?.total ?? 0n) <= SMALLEST) break;
    shares.push(shareOn(gpus));
  }
  const placements = new Map<number, Placement>();
  return GPUS.map((gpu, index) => {
    // Many have as much memory as others.
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

/** GiB with three decimal places, for people; the bytes are exact. */
function gib(bytes: number): number {
  return Math.round((bytes / GIB) * 1_000) / 1_000;
}
