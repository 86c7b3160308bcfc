import { type Row } from "./row.ts";

/** Models that zai-org published. */
export const ZAI_ORG: readonly Row[] = [
  [
    "zai-org/GLM-4.5-Air",
    106_852_251_264,
    131_072,
    [46, 4_096, 96, 8, 128, 10_944, 151_552],
    {
      activeParametersB: 12,
      experts: { count: 128, active: 8, shared: 1, intermediateSize: 1_408, denseLayers: 1 },
    },
  ],
  [
    "zai-org/GLM-4.5",
    352_797_829_024,
    131_072,
    [92, 5_120, 96, 8, 128, 12_288, 151_552],
    {
      activeParametersB: 32,
      experts: { count: 160, active: 8, shared: 1, intermediateSize: 1_536, denseLayers: 3 },
    },
  ],
  [
    "zai-org/GLM-4.7",
    352_797_829_024,
    202_752,
    [92, 5_120, 96, 8, 128, 12_288, 151_552],
    {
      activeParametersB: 32,
      experts: { count: 160, active: 8, shared: 1, intermediateSize: 1_536, denseLayers: 3 },
    },
  ],
  ["zai-org/glm-4-9b-chat-hf", 9_399_951_360, 131_072, [40, 4_096, 32, 2, 128, 13_696, 151_552]],
  ["zai-org/GLM-4-32B-0414", 32_566_081_536, 32_768, [61, 6_144, 48, 2, 128, 23_040, 151_552]],
];
