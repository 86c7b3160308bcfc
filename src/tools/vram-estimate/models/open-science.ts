import { TIED, type Row } from "./row.ts";

/** Models of research groups that publish their training data too. */
export const OPEN_SCIENCE: readonly Row[] = [
  ["allenai/OLMo-2-1124-7B", 7_298_617_344, 4_096, [32, 4_096, 32, 32, 128, 11_008, 100_352]],
  ["allenai/OLMo-2-1124-13B", 13_716_198_400, 4_096, [40, 5_120, 40, 40, 128, 13_824, 100_352]],
  ["allenai/OLMo-2-0325-32B", 32_234_279_936, 4_096, [64, 5_120, 40, 8, 128, 27_648, 100_352]],
  [
    "bigcode/starcoder2-15b",
    15_957_889_024,
    16_384,
    [40, 6_144, 48, 4, 128, 24_576, 49_152],
    { ungated: true, slidingWindow: { tokens: 4_096, layers: 40 } },
  ],
  [
    "bigcode/starcoder2-3b",
    3_030_371_328,
    16_384,
    [30, 3_072, 24, 2, 128, 12_288, 49_152],
    { ...TIED, ungated: true, slidingWindow: { tokens: 4_096, layers: 30 } },
  ],
  ["HuggingFaceTB/SmolLM2-135M", 134_515_008, 8_192, [30, 576, 9, 3, 64, 1_536, 49_152], TIED],
  ["HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384, 8_192, [24, 2_048, 32, 32, 64, 8_192, 49_152], TIED],
  ["HuggingFaceTB/SmolLM3-3B", 3_075_098_624, 65_536, [36, 2_048, 16, 4, 128, 11_008, 128_256], TIED],
  ["HuggingFaceTB/SmolLM2-360M", 361_821_120, 8_192, [32, 960, 15, 5, 64, 2_560, 49_152], TIED],
  ["TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1_100_048_384, 2_048, [22, 2_048, 32, 4, 64, 5_632, 32_000]],
];
