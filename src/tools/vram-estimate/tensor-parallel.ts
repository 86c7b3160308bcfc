import { invalidField } from "../../domain/core/errors.ts";
import type { Architecture } from "./architecture.ts";

/** NCCL's own buffers on each GPU as measured with vLLM and TensorRT-LLM: 342 MiB between two GPUs, 392 MiB between more (nccl_mem of NVIDIA's aiconfigurator). */
const NCCL_PAIR = 358_612_992n;
const NCCL_MORE = 411_041_792n;

/** Whether attention heads were guessed: then a power of two stands for the head counts that models of the size have. */
export interface Divisible {
  readonly architecture: Architecture;
  readonly headsGuessed: boolean;
}

/** Bytes that each of some GPUs spends on talking to the others, whatever the model. */
export function communicationFixed(gpus: number): bigint {
  if (gpus === 1) return 0n;
  return gpus === 2 ? NCCL_PAIR : NCCL_MORE;
}

/**
 * What engines demand of the number of GPUs that share a layer, as vLLM does: it divides the attention heads;
 * and it divides the key-value heads or is a multiple of them; and it divides the heads of recurrent layers.
 * @throws ToolgateError INVALID_REQUEST that names the number in the way
 */
export function demandDivisible(subject: Divisible, gpus: number): void {
  const obstacle = obstacleTo(subject, gpus);
  if (obstacle)
    throw invalidField("params.tensor_parallel", `${obstacle}; possible are ${feasible(subject).join(", ")}`);
}

/** The numbers of GPUs that can share a layer, smallest first. */
export function feasible(subject: Divisible): readonly number[] {
  const found: number[] = [];
  for (let gpus = 1; gpus <= Math.min(subject.architecture.numHeads, MAX_GPUS); gpus++) {
    if (!obstacleTo(subject, gpus)) found.push(gpus);
  }
  return found;
}

/** GPUs that one fast interconnect joins at most today (NVL72, with room). */
export const MAX_GPUS = 128;

function obstacleTo({ architecture, headsGuessed }: Divisible, gpus: number): string | undefined {
  const { numHeads, numKvHeads, latentAttention, recurrent } = architecture;
  if (headsGuessed) {
    const power = Number.isInteger(Math.log2(gpus)) && gpus <= numHeads;
    return power ? undefined : "must be a power of two, and at most the guessed number of attention heads";
  }
  if (numHeads % gpus !== 0) return `must divide the ${numHeads} attention heads`;
  // Latent attention keeps its one compressed vector whole on every GPU.
  const fitsKv = latentAttention || numKvHeads % gpus === 0 || gpus % numKvHeads === 0;
  if (!fitsKv) return `must divide the ${numKvHeads} key-value heads or be a multiple of them`;
  if (recurrent && recurrent.heads % gpus !== 0)
    return `must divide the ${recurrent.heads} heads of the recurrent layers`;
  return undefined;
}
