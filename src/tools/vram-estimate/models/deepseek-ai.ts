import { type Row, type Special } from "./row.ts";
import { LATENT } from "./latent.ts";

const DEEPSEEK_V3: Special = {
  activeParametersB: 37,
  experts: { count: 256, active: 8, shared: 1, intermediateSize: 2_048, denseLayers: 3 },
  latentAttention: LATENT,
};

/** Models that deepseek-ai published. */
export const DEEPSEEK_AI: readonly Row[] = [
  [
    "deepseek-ai/DeepSeek-V2-Lite",
    15_706_484_224,
    163_840,
    [27, 2_048, 16, 16, 128, 10_944, 102_400],
    {
      activeParametersB: 2.4,
      experts: { count: 64, active: 6, shared: 2, intermediateSize: 1_408, denseLayers: 1 },
      latentAttention: { ...LATENT, queryRank: undefined },
    },
  ],
  [
    "deepseek-ai/DeepSeek-V3",
    671_026_419_200,
    163_840,
    [61, 7_168, 128, 128, 128, 18_432, 129_280],
    DEEPSEEK_V3,
  ],
  [
    "deepseek-ai/DeepSeek-R1",
    671_026_419_200,
    163_840,
    [61, 7_168, 128, 128, 128, 18_432, 129_280],
    DEEPSEEK_V3,
  ],
  [
    "deepseek-ai/DeepSeek-V2",
    235_741_434_880,
    163_840,
    [60, 5_120, 128, 128, 128, 12_288, 102_400],
    {
      activeParametersB: 21,
      experts: { count: 160, active: 6, shared: 2, intermediateSize: 1_536, denseLayers: 1 },
      latentAttention: LATENT,
    },
  ],
  [
    "deepseek-ai/DeepSeek-V3.1",
    671_026_419_200,
    163_840,
    [61, 7_168, 128, 128, 128, 18_432, 129_280],
    DEEPSEEK_V3,
  ],
  [
    "deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
    8_030_261_248,
    131_072,
    [32, 4_096, 32, 8, 128, 14_336, 128_256],
  ],
  [
    "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
    70_553_706_496,
    131_072,
    [80, 8_192, 64, 8, 128, 28_672, 128_256],
  ],
  [
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
    32_763_876_352,
    131_072,
    [64, 5_120, 40, 8, 128, 27_648, 152_064],
  ],
  [
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    1_777_088_000,
    131_072,
    [28, 1_536, 12, 2, 128, 8_960, 151_936],
  ],
];
