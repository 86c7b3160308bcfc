/** A GPU. */
export interface Gpu {
  readonly name: string;
  /** What the driver reports as total memory, which is what programs get: less than the data sheet where ECC takes a part. */
  readonly memoryMib: number;
}

/**
 * Total memory as nvidia-smi (NVIDIA), rocm-smi (AMD), hl-smi (Gaudi) and the SYCL runtime (Intel) report it, smallest first.
 * MI325X as its siblings report it: 16 MiB less than its 256 GiB. Max 1550: the two times 64 GiB of its documentation.
 * Cards of several GPUs, A16 and MI250X, stand with one GPU.
 */
export const GPUS: readonly Gpu[] = [
  { name: "NVIDIA GeForce RTX 3080 10GB", memoryMib: 10_240 },
  { name: "NVIDIA GeForce RTX 5070 12GB", memoryMib: 12_227 },
  { name: "NVIDIA GeForce RTX 4070 12GB", memoryMib: 12_282 },
  { name: "NVIDIA GeForce RTX 3060 12GB", memoryMib: 12_288 },
  { name: "NVIDIA A16 16GB", memoryMib: 15_356 },
  { name: "NVIDIA T4 16GB", memoryMib: 15_360 },
  { name: "Intel Arc A770 16GB", memoryMib: 15_473 },
  { name: "NVIDIA GeForce RTX 5080 16GB", memoryMib: 16_303 },
  { name: "NVIDIA GeForce RTX 4080 16GB", memoryMib: 16_376 },
  { name: "NVIDIA V100 16GB", memoryMib: 16_384 },
  { name: "NVIDIA A10 24GB", memoryMib: 23_028 },
  { name: "NVIDIA L4 24GB", memoryMib: 23_034 },
  { name: "NVIDIA A30 24GB", memoryMib: 24_258 },
  { name: "AMD Radeon RX 7900 XTX 24GB", memoryMib: 24_560 },
  { name: "NVIDIA GeForce RTX 4090 24GB", memoryMib: 24_564 },
  { name: "NVIDIA GeForce RTX 3090 24GB", memoryMib: 24_576 },
  { name: "NVIDIA GeForce RTX 5090 32GB", memoryMib: 32_607 },
  { name: "NVIDIA V100 32GB", memoryMib: 32_768 },
  { name: "NVIDIA A100 40GB", memoryMib: 40_960 },
  { name: "AMD Radeon PRO W7900 48GB", memoryMib: 46_064 },
  { name: "NVIDIA A40 48GB", memoryMib: 46_068 },
  { name: "NVIDIA L40 48GB", memoryMib: 46_068 },
  { name: "NVIDIA L40S 48GB", memoryMib: 46_068 },
  { name: "NVIDIA RTX A6000 48GB", memoryMib: 49_140 },
  { name: "NVIDIA RTX 6000 Ada 48GB", memoryMib: 49_140 },
  { name: "AMD Instinct MI210 64GB", memoryMib: 65_520 },
  { name: "AMD Instinct MI250X (one of two GPUs) 64GB", memoryMib: 65_520 },
  { name: "NVIDIA H100 80GB", memoryMib: 81_559 },
  { name: "NVIDIA H100 PCIe 80GB", memoryMib: 81_559 },
  { name: "NVIDIA A100 80GB", memoryMib: 81_920 },
  { name: "NVIDIA H100 NVL 94GB", memoryMib: 95_830 },
  { name: "NVIDIA GH200 96GB", memoryMib: 97_871 },
  { name: "NVIDIA RTX PRO 6000 Blackwell 96GB", memoryMib: 97_887 },
  { name: "Intel Gaudi 2 96GB", memoryMib: 98_304 },
  { name: "Intel Gaudi 3 128GB", memoryMib: 131_072 },
  { name: "Intel Data Center GPU Max 1550 128GB", memoryMib: 131_072 },
  { name: "NVIDIA H200 141GB", memoryMib: 143_771 },
  { name: "NVIDIA B200 180GB", memoryMib: 183_359 },
  { name: "AMD Instinct MI300X 192GB", memoryMib: 196_592 },
  { name: "AMD Instinct MI325X 256GB", memoryMib: 262_128 },
  { name: "NVIDIA B300 288GB", memoryMib: 275_040 },
  { name: "AMD Instinct MI355X 288GB", memoryMib: 294_896 },
];
