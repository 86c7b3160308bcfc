import { invalidField } from "../../domain/core/errors.ts";
import type { Architecture } from "./architecture.ts";
import table from "./gpus.json" with { type: "json" };

export interface Gpu {
  readonly name: string;
  readonly memoryMib: number;
}

/** Sorted by memory. */
export const GPUS: readonly Gpu[] = table.gpus;

const MIB = 1_048_576n;

/** Memory per GPU for one degree of tensor parallelism. */
export interface Share {
  readonly tensorParallel: number;
  /** Bytes per GPU, including the fixed part. */
  readonly total: bigint;
  /** Bytes that do not depend on the share of the model. */
  readonly fixed: bigint;
}

export interface Placement {
  readonly needed: number;
  readonly tensorParallel: number;
  /** Groups of GPUs that process the layers in sequence. */
  readonly pipelineParallel: number;
}

/** Returns the first share that fits, else the last one in as many stages as needed; shares ascend. */
export function placementOn(gpu: Gpu, shares: readonly [Share, ...Share[]]): Placement {
  const memory = BigInt(gpu.memoryMib) * MIB;
  const fitting = shares.find(({ total }) => total <= memory);
  const { tensorParallel, total, fixed } = fitting ?? shares.at(-1) ?? shares[0];
  const room = memory - fixed;
  const pipelineParallel = Number((total - fixed + room - 1n) / room);
  return { needed: tensorParallel * pipelineParallel, tensorParallel, pipelineParallel };
}

/** NCCL buffers per GPU, measured: 342 MiB for two, 392 MiB for more (aiconfigurator, nccl_mem). */
const NCCL_PAIR = 358_612_992n;
const NCCL_MORE = 411_041_792n;

/** `headsGuessed`: any power of two is accepted instead of a divisor of the head count. */
export interface Divisible {
  readonly architecture: Architecture;
  readonly headsGuessed: boolean;
}

/** Communication buffers per GPU, bytes. */
export function communicationFixed(gpus: number): bigint {
  if (gpus === 1) return 0n;
  return gpus === 2 ? NCCL_PAIR : NCCL_MORE;
}

/** Checks tensor parallelism as vLLM does, against the numbers of heads. @throws ToolgateError */
export function requireDivisible(subject: Divisible, gpus: number): void {
  const obstacle = obstacleTo(subject, gpus);
  if (obstacle)
    throw invalidField("params.tensor_parallel", `${obstacle}; possible are ${feasible(subject).join(", ")}`);
}

/** Returns the possible degrees of tensor parallelism, ascending. */
export function feasible(subject: Divisible): readonly number[] {
  const found: number[] = [];
  for (let gpus = 1; gpus <= Math.min(subject.architecture.numHeads, MAX_GPUS); gpus++) {
    if (!obstacleTo(subject, gpus)) found.push(gpus);
  }
  return found;
}

/** Above the largest fast interconnect of today (NVL72). */
export const MAX_GPUS = 128;

function obstacleTo({ architecture, headsGuessed }: Divisible, gpus: number): string | undefined {
  const { numHeads, numKvHeads, latentAttention, recurrent } = architecture;
  if (headsGuessed) {
    const power = Number.isInteger(Math.log2(gpus)) && gpus <= numHeads;
    return power ? undefined : "must be a power of two, and at most the guessed number of attention heads";
  }
  if (numHeads % gpus !== 0) return `must divide the ${numHeads} attention heads`;
  // Latent attention keeps its compressed vector whole on every GPU.
  const fitsKv = latentAttention || numKvHeads % gpus === 0 || gpus % numKvHeads === 0;
  if (!fitsKv) return `must divide the ${numKvHeads} key-value heads or be a multiple of them`;
  if (recurrent && recurrent.heads % gpus !== 0)
    return `must divide the ${recurrent.heads} heads of the recurrent layers`;
  return undefined;
}
