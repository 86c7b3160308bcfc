import { TIED, type Row } from "./row.ts";
import { LATENT } from "./latent.ts";

/** Publishers of few models. */
export const OTHERS: readonly Row[] = [
  [
    "openai/gpt-oss-20b",
    20_914_757_184,
    131_072,
    [24, 2_880, 64, 8, 64, 2_880, 201_088],
    {
      activeParametersB: 3.6,
      slidingWindow: { tokens: 128, layers: 12 },
      experts: { count: 32, active: 4, shared: 0, intermediateSize: 2_880, denseLayers: 0 },
    },
  ],
  [
    "openai/gpt-oss-120b",
    116_829_156_672,
    131_072,
    [36, 2_880, 64, 8, 64, 2_880, 201_088],
    {
      activeParametersB: 5.1,
      slidingWindow: { tokens: 128, layers: 18 },
      experts: { count: 128, active: 4, shared: 0, intermediateSize: 2_880, denseLayers: 0 },
    },
  ],
  [
    "moonshotai/Kimi-K2-Instruct",
    1_026_408_232_448,
    131_072,
    [61, 7_168, 64, 64, 128, 18_432, 163_840],
    {
      activeParametersB: 32,
      experts: { count: 384, active: 8, shared: 1, intermediateSize: 2_048, denseLayers: 1 },
      latentAttention: LATENT,
    },
  ],
  [
    "MiniMaxAI/MiniMax-M2.5",
    228_689_764_864,
    196_608,
    [62, 3_072, 48, 8, 128, 1_536, 200_064],
    {
      activeParametersB: 10,
      experts: { count: 256, active: 8, shared: 0, intermediateSize: 1_536, denseLayers: 0 },
    },
  ],
  [
    "ibm-granite/granite-3.1-8b-instruct",
    8_170_848_256,
    131_072,
    [40, 4_096, 32, 8, 128, 12_800, 49_155],
    TIED,
  ],
  [
    "ibm-granite/granite-3.1-2b-instruct",
    2_533_531_648,
    131_072,
    [40, 2_048, 32, 8, 64, 8_192, 49_155],
    TIED,
  ],
  ["tiiuae/Falcon3-1B-Base", 1_669_408_768, 4_096, [18, 2_048, 8, 4, 256, 8_192, 131_072]],
  ["tiiuae/Falcon3-3B-Base", 3_227_655_168, 32_768, [22, 3_072, 12, 4, 256, 9_216, 131_072]],
  ["tiiuae/Falcon3-7B-Base", 7_455_550_464, 32_768, [28, 3_072, 12, 4, 256, 23_040, 131_072]],
  ["tiiuae/Falcon3-10B-Base", 10_305_653_760, 32_768, [40, 3_072, 12, 4, 256, 23_040, 131_072]],
  ["01-ai/Yi-1.5-34B", 34_388_917_248, 4_096, [60, 7_168, 56, 8, 128, 20_480, 64_000]],
];
