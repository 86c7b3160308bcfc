import { TIED, type Row } from "./row.ts";

/** Models that microsoft published. */
export const MICROSOFT: readonly Row[] = [
  ["microsoft/Phi-3.5-mini-instruct", 3_821_079_552, 131_072, [32, 3_072, 32, 32, 96, 8_192, 32_064]],
  ["microsoft/phi-4", 14_659_507_200, 16_384, [40, 5_120, 40, 10, 128, 17_920, 100_352]],
  ["microsoft/Phi-4-mini-instruct", 3_836_021_760, 131_072, [32, 3_072, 24, 8, 128, 8_192, 200_064], TIED],
  ["microsoft/Phi-4-reasoning", 14_659_507_200, 32_768, [40, 5_120, 40, 10, 128, 17_920, 100_352]],
];
