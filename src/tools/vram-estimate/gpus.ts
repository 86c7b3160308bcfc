const MIB = 1_048_576n;

/** A GPU. */
export interface Gpu {
  readonly name: string;
  /** What the driver reports as total memory, which is what programs get: less than the data sheet where ECC takes a part. */
  readonly memoryMib: number;
}

/** Total memory as nvidia-smi (NVIDIA) and rocm-smi (AMD) report it, smallest first. */
export const GPUS: readonly Gpu[] = [
  { name: "NVIDIA GeForce RTX 3060 12GB", memoryMib: 12_288 },
  { name: "NVIDIA T4 16GB", memoryMib: 15_360 },
  { name: "NVIDIA A10 24GB", memoryMib: 23_028 },
  { name: "NVIDIA L4 24GB", memoryMib: 23_034 },
  { name: "NVIDIA GeForce RTX 4090 24GB", memoryMib: 24_564 },
  { name: "NVIDIA GeForce RTX 3090 24GB", memoryMib: 24_576 },
  { name: "NVIDIA GeForce RTX 5090 32GB", memoryMib: 32_607 },
  { name: "NVIDIA A100 40GB", memoryMib: 40_960 },
  { name: "NVIDIA L40S 48GB", memoryMib: 46_068 },
  { name: "NVIDIA RTX A6000 48GB", memoryMib: 49_140 },
  { name: "NVIDIA H100 80GB", memoryMib: 81_559 },
  { name: "NVIDIA A100 80GB", memoryMib: 81_920 },
  { name: "NVIDIA H200 141GB", memoryMib: 143_771 },
  { name: "NVIDIA B200 180GB", memoryMib: 183_359 },
  { name: "AMD Instinct MI300X 192GB", memoryMib: 196_592 },
];

/**
 * How many of a GPU hold the total, when everything but the fixed part is split evenly over them.
 * @param total bytes on one GPU, the fixed part included
 * @param fixed bytes that every GPU spends
 */
export function gpusNeeded(gpu: Gpu, total: bigint, fixed: bigint): number {
  const room = BigInt(gpu.memoryMib) * MIB - fixed;
  const load = total - fixed;
  return Number((load + room - 1n) / room);
}
