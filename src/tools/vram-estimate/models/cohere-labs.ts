import { TIED, type Row } from "./row.ts";

/** Models that CohereLabs published. */
export const COHERE_LABS: readonly Row[] = [
  ["CohereLabs/c4ai-command-r-v01", 34_980_831_232, 131_072, [40, 8_192, 64, 64, 128, 22_528, 256_000], TIED],
  [
    "CohereLabs/c4ai-command-r-08-2024",
    32_296_476_672,
    131_072,
    [40, 8_192, 64, 8, 128, 24_576, 256_000],
    TIED,
  ],
  [
    "CohereLabs/c4ai-command-r-plus",
    103_810_674_688,
    131_072,
    [64, 12_288, 96, 8, 128, 33_792, 256_000],
    TIED,
  ],
  [
    "CohereLabs/c4ai-command-r7b-12-2024",
    8_028_033_024,
    8_192,
    [32, 4_096, 32, 8, 128, 14_336, 256_000],
    { ...TIED, slidingWindow: { tokens: 4_096, layers: 24 } },
  ],
];
