import { type Row } from "./row.ts";

/** The Pixtral image encoder of Mistral Small 3.2: 24 layers of 1024, and the projections of its output (vision_config). */
const PIXTRAL = { encoderParameters: 438_958_080 } as const;

/** Models that mistralai published. */
export const MISTRALAI: readonly Row[] = [
  [
    "mistralai/Mistral-7B-v0.1",
    7_241_732_096,
    32_768,
    [32, 4_096, 32, 8, 128, 14_336, 32_000],
    { slidingWindow: { tokens: 4_096, layers: 32 } },
  ],
  ["mistralai/Mistral-7B-v0.3", 7_248_023_552, 32_768, [32, 4_096, 32, 8, 128, 14_336, 32_768]],
  ["mistralai/Mistral-Nemo-Instruct-2407", 12_247_782_400, 131_072, [40, 5_120, 32, 8, 128, 14_336, 131_072]],
  [
    "mistralai/Mistral-Small-24B-Instruct-2501",
    23_572_403_200,
    32_768,
    [40, 5_120, 32, 8, 128, 32_768, 131_072],
  ],
  [
    "mistralai/Mistral-Large-Instruct-2407",
    122_610_069_504,
    131_072,
    [88, 12_288, 96, 8, 128, 28_672, 32_768],
  ],
  [
    "mistralai/Mixtral-8x7B-v0.1",
    46_702_792_704,
    32_768,
    [32, 4_096, 32, 8, 128, 14_336, 32_000],
    {
      activeParametersB: 12.9,
      experts: { count: 8, active: 2, shared: 0, intermediateSize: 14_336, denseLayers: 0 },
    },
  ],
  [
    "mistralai/Mixtral-8x22B-v0.1",
    140_630_071_296,
    65_536,
    [56, 6_144, 48, 8, 128, 16_384, 32_768],
    {
      activeParametersB: 39,
      experts: { count: 8, active: 2, shared: 0, intermediateSize: 16_384, denseLayers: 0 },
    },
  ],
  [
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
    24_011_361_280,
    131_072,
    [40, 5_120, 32, 8, 128, 32_768, 131_072],
    PIXTRAL,
  ],
  ["mistralai/Mistral-Small-Instruct-2409", 22_247_282_688, 32_768, [56, 6_144, 48, 8, 128, 16_384, 32_768]],
  [
    "mistralai/Mistral-Large-Instruct-2411",
    122_610_069_504,
    131_072,
    [88, 12_288, 96, 8, 128, 28_672, 32_768],
  ],
];
