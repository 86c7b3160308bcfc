import { TIED, type Row } from "./row.ts";

/** The SigLIP image encoder of Gemma 3 (technical report, table 1: 417 million parameters). */
const SIGLIP = { ...TIED, encoderParameters: 416_866_032 } as const;

/** Models that google published. */
export const GOOGLE: readonly Row[] = [
  ["google/gemma-2b", 2_506_172_416, 8_192, [18, 2_048, 8, 1, 256, 16_384, 256_000], TIED],
  ["google/gemma-7b", 8_537_680_896, 8_192, [28, 3_072, 16, 16, 256, 24_576, 256_000], TIED],
  [
    "google/gemma-2-2b",
    2_614_341_888,
    8_192,
    [26, 2_304, 8, 4, 256, 9_216, 256_000],
    { ...TIED, slidingWindow: { tokens: 4_096, layers: 13 } },
  ],
  [
    "google/gemma-2-9b",
    9_241_705_984,
    8_192,
    [42, 3_584, 16, 8, 256, 14_336, 256_000],
    { ...TIED, slidingWindow: { tokens: 4_096, layers: 21 } },
  ],
  [
    "google/gemma-2-27b",
    27_227_128_320,
    8_192,
    [46, 4_608, 32, 16, 128, 36_864, 256_000],
    { ...TIED, slidingWindow: { tokens: 4_096, layers: 23 } },
  ],
  [
    "google/gemma-3-1b-it",
    999_885_952,
    32_768,
    [26, 1_152, 4, 1, 256, 6_912, 262_144],
    { ...TIED, slidingWindow: { tokens: 512, layers: 22 } },
  ],
  [
    "google/gemma-3-4b-it",
    4_300_079_472,
    131_072,
    [34, 2_560, 8, 4, 256, 10_240, 262_208],
    { ...SIGLIP, slidingWindow: { tokens: 1_024, layers: 29 } },
  ],
  [
    "google/gemma-3-12b-it",
    12_187_325_040,
    131_072,
    [48, 3_840, 16, 8, 256, 15_360, 262_208],
    { ...SIGLIP, slidingWindow: { tokens: 1_024, layers: 40 } },
  ],
  [
    "google/gemma-3-27b-it",
    27_432_406_640,
    131_072,
    [62, 5_376, 32, 16, 128, 21_504, 262_208],
    { ...SIGLIP, slidingWindow: { tokens: 1_024, layers: 52 } },
  ],
  [
    "google/gemma-3-270m",
    268_098_176,
    32_768,
    [18, 640, 4, 1, 256, 2_048, 262_144],
    { ...TIED, slidingWindow: { tokens: 512, layers: 15 } },
  ],
];
