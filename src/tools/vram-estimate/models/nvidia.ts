import { mamba2 } from "../recurrent.ts";
import { type Row } from "./row.ts";

/** Models that nvidia published. */
export const NVIDIA: readonly Row[] = [
  [
    "nvidia/Llama-3.1-Nemotron-70B-Instruct-HF",
    70_553_706_496,
    131_072,
    [80, 8_192, 64, 8, 128, 28_672, 128_256],
  ],
  ["nvidia/Mistral-NeMo-Minitron-8B-Base", 8_414_105_600, 8_192, [40, 4_096, 32, 8, 128, 11_520, 131_072]],
  [
    "nvidia/Minitron-8B-Base",
    8_271_699_968,
    4_096,
    [32, 4_096, 48, 8, 128, 16_384, 256_000],
    { ungated: true },
  ],
  [
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    31_577_940_288,
    262_144,
    [52, 2_688, 32, 2, 128, 1_856, 131_072],
    {
      activeParametersB: 3,
      experts: { count: 128, active: 6, shared: 2, intermediateSize: 1_856, denseLayers: 0 },
      ungated: true,
      attentionLayers: 6,
      feedForwardLayers: 23,
      recurrent: mamba2({ layers: 23, heads: 64, headDim: 64, groups: 8, stateSize: 128, kernel: 4 }),
    },
  ],
];
