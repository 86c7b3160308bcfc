import { TIED, type Row } from "./row.ts";

/** The image encoder of Llama 4: 34 layers of 1408, and the projections of its output (vision_config). */
const LLAMA_4_ENCODER = 871_932_416;

/** Models that meta-llama and codellama published. */
export const META_LLAMA: readonly Row[] = [
  ["meta-llama/Llama-2-7b-hf", 6_738_415_616, 4_096, [32, 4_096, 32, 32, 128, 11_008, 32_000]],
  ["meta-llama/Llama-2-13b-hf", 13_015_864_320, 4_096, [40, 5_120, 40, 40, 128, 13_824, 32_000]],
  ["meta-llama/Llama-2-70b-hf", 68_976_648_192, 4_096, [80, 8_192, 64, 8, 128, 28_672, 32_000]],
  ["meta-llama/Meta-Llama-3-8B", 8_030_261_248, 8_192, [32, 4_096, 32, 8, 128, 14_336, 128_256]],
  ["meta-llama/Meta-Llama-3-70B", 70_553_706_496, 8_192, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  ["meta-llama/Llama-3.1-8B", 8_030_261_248, 131_072, [32, 4_096, 32, 8, 128, 14_336, 128_256]],
  ["meta-llama/Llama-3.1-70B", 70_553_706_496, 131_072, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  ["meta-llama/Llama-3.1-405B", 405_853_388_800, 131_072, [126, 16_384, 128, 8, 128, 53_248, 128_256]],
  ["meta-llama/Llama-3.2-1B", 1_235_814_400, 131_072, [16, 2_048, 32, 8, 64, 8_192, 128_256], TIED],
  ["meta-llama/Llama-3.2-3B", 3_212_749_824, 131_072, [28, 3_072, 24, 8, 128, 8_192, 128_256], TIED],
  ["meta-llama/Llama-3.3-70B-Instruct", 70_553_706_496, 131_072, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  [
    "meta-llama/Llama-4-Scout-17B-16E",
    108_641_793_536,
    10_485_760,
    [48, 5_120, 40, 8, 128, 16_384, 202_048],
    {
      activeParametersB: 17,
      experts: { count: 16, active: 1, shared: 1, intermediateSize: 8_192, denseLayers: 0 },
      slidingWindow: { tokens: 8_192, layers: 36 },
      encoderParameters: LLAMA_4_ENCODER,
    },
  ],
  [
    "meta-llama/Llama-4-Maverick-17B-128E",
    401_583_781_376,
    1_048_576,
    [48, 5_120, 40, 8, 128, 16_384, 202_048],
    {
      activeParametersB: 17,
      experts: { count: 128, active: 1, shared: 1, intermediateSize: 8_192, denseLayers: 24 },
      slidingWindow: { tokens: 8_192, layers: 36 },
      encoderParameters: LLAMA_4_ENCODER,
    },
  ],
  ["codellama/CodeLlama-34b-hf", 33_743_970_304, 16_384, [48, 8_192, 64, 8, 128, 22_016, 32_000]],
  ["codellama/CodeLlama-7b-hf", 6_738_546_688, 16_384, [32, 4_096, 32, 32, 128, 11_008, 32_016]],
  ["codellama/CodeLlama-13b-hf", 13_016_028_160, 16_384, [40, 5_120, 40, 40, 128, 13_824, 32_016]],
];
