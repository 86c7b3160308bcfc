import type { Gpu } from "./gpu-table.ts";

const MIB = 1_048_576n;

/** What each of some GPUs must hold. */
export interface Share {
  /** GPUs that share every layer. */
  readonly tensorParallel: number;
  /** Bytes on each of them, the fixed part included. */
  readonly total: bigint;
  /** Bytes that each of them spends whatever its share. */
  readonly fixed: bigint;
}

/** GPUs that hold a model. */
export interface Placement {
  readonly needed: number;
  /** GPUs that share every layer. */
  readonly tensorParallel: number;
  /** Groups of such GPUs that have the layers one after the other. */
  readonly pipelineParallel: number;
}

/**
 * The fewest GPUs of a kind that hold the model: the first of the shares that fits; and where the last of them does not,
 * the layers go one after the other through as many such groups as share the load out evenly.
 * @param shares with more and more GPUs; at least one
 */
export function placementOn(gpu: Gpu, shares: readonly [Share, ...Share[]]): Placement {
  const memory = BigInt(gpu.memoryMib) * MIB;
  const fitting = shares.find(({ total }) => total <= memory);
  const { tensorParallel, total, fixed } = fitting ?? shares.at(-1) ?? shares[0];
  const room = memory - fixed;
  const pipelineParallel = Number((total - fixed + room - 1n) / room);
  return { needed: tensorParallel * pipelineParallel, tensorParallel, pipelineParallel };
}
