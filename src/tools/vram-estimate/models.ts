import type { Architecture, Experts, LatentAttention, SlidingWindow } from "./architecture.ts";

/** A published model. */
export interface KnownModel extends Architecture {
  /** Its name on huggingface.co. */
  readonly id: string;
  /** All parameters, as the model's safetensors index or model card counts them. */
  readonly parameters: number;
  /** Tokens: max_position_embeddings, or the model card where it promises less. */
  readonly maxContext: number;
  /** Parameters that work on each token, in billions, as the model card says; mixtures of experts only. */
  readonly activeParametersB: number | undefined;
  /** The part of the parameters in an image encoder, whose own activations are not modelled. */
  readonly encoderParameters: number;
}

/** What only some models have. */
interface Special {
  readonly tiedEmbeddings?: true;
  readonly slidingWindow?: SlidingWindow;
  readonly experts?: Experts;
  readonly latentAttention?: LatentAttention;
  readonly activeParametersB?: number;
  readonly encoderParameters?: number;
}

/** num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, head_dim, intermediate_size, vocab_size. */
type Shape = readonly [number, number, number, number, number, number, number];

type Row = readonly [id: string, parameters: number, maxContext: number, shape: Shape, special?: Special];

const TIED = { tiedEmbeddings: true } as const;
/** The SigLIP image encoder of Gemma 3 (technical report, table 1: 417 million parameters). */
const SIGLIP = { tiedEmbeddings: true, encoderParameters: 416_866_032 } as const;
const DEEPSEEK_V3: Special = {
  activeParametersB: 37,
  experts: { count: 256, active: 8, shared: 1, intermediateSize: 2_048, denseLayers: 3 },
  latentAttention: { rank: 512, ropeDim: 64 },
};

/**
 * The values of each model's config.json at https://huggingface.co/<id>, and its count of parameters.
 * DeepSeek-V3 and R1 without the module for predicting several tokens, which serving does not need.
 */
const ROWS: readonly Row[] = [
  ["meta-llama/Llama-2-7b-hf", 6_738_415_616, 4_096, [32, 4_096, 32, 32, 128, 11_008, 32_000]],
  ["meta-llama/Llama-2-13b-hf", 13_015_864_320, 4_096, [40, 5_120, 40, 40, 128, 13_824, 32_000]],
  ["meta-llama/Llama-2-70b-hf", 68_976_648_192, 4_096, [80, 8_192, 64, 8, 128, 28_672, 32_000]],
  ["codellama/CodeLlama-34b-hf", 33_743_970_304, 16_384, [48, 8_192, 64, 8, 128, 22_016, 32_000]],
  ["meta-llama/Meta-Llama-3-8B", 8_030_261_248, 8_192, [32, 4_096, 32, 8, 128, 14_336, 128_256]],
  ["meta-llama/Meta-Llama-3-70B", 70_553_706_496, 8_192, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  ["meta-llama/Llama-3.1-8B", 8_030_261_248, 131_072, [32, 4_096, 32, 8, 128, 14_336, 128_256]],
  ["meta-llama/Llama-3.1-70B", 70_553_706_496, 131_072, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  ["meta-llama/Llama-3.1-405B", 405_853_388_800, 131_072, [126, 16_384, 128, 8, 128, 53_248, 128_256]],
  ["meta-llama/Llama-3.2-1B", 1_235_814_400, 131_072, [16, 2_048, 32, 8, 64, 8_192, 128_256], TIED],
  ["meta-llama/Llama-3.2-3B", 3_212_749_824, 131_072, [28, 3_072, 24, 8, 128, 8_192, 128_256], TIED],
  ["meta-llama/Llama-3.3-70B-Instruct", 70_553_706_496, 131_072, [80, 8_192, 64, 8, 128, 28_672, 128_256]],
  [
    "mistralai/Mistral-7B-v0.1",
    7_241_732_096,
    32_768,
    [32, 4_096, 32, 8, 128, 14_336, 32_000],
    { slidingWindow: { tokens: 4_096, layers: 32 } },
  ],
  ["mistralai/Mistral-7B-v0.3", 7_248_023_552, 32_768, [32, 4_096, 32, 8, 128, 14_336, 32_768]],
  ["mistralai/Mistral-Nemo-Instruct-2407", 12_247_782_400, 131_072, [40, 5_120, 32, 8, 128, 14_336, 131_072]],
  ["mistralai/Mistral-Small-24B-Instruct-2501", 23_572_403_200, 32_768, [40, 5_120, 32, 8, 128, 32_768, 131_072]],
  ["mistralai/Mistral-Large-Instruct-2407", 122_610_069_504, 131_072, [88, 12_288, 96, 8, 128, 28_672, 32_768]],
  [
    "mistralai/Mixtral-8x7B-v0.1",
    46_702_792_704,
    32_768,
    [32, 4_096, 32, 8, 128, 14_336, 32_000],
    { activeParametersB: 12.9, experts: { count: 8, active: 2, shared: 0, intermediateSize: 14_336, denseLayers: 0 } },
  ],
  [
    "mistralai/Mixtral-8x22B-v0.1",
    140_630_071_296,
    65_536,
    [56, 6_144, 48, 8, 128, 16_384, 32_768],
    { activeParametersB: 39, experts: { count: 8, active: 2, shared: 0, intermediateSize: 16_384, denseLayers: 0 } },
  ],
  ["Qwen/Qwen2.5-0.5B", 494_032_768, 32_768, [24, 896, 14, 2, 64, 4_864, 151_936], TIED],
  ["Qwen/Qwen2.5-1.5B", 1_543_714_304, 131_072, [28, 1_536, 12, 2, 128, 8_960, 151_936], TIED],
  ["Qwen/Qwen2.5-3B", 3_085_938_688, 32_768, [36, 2_048, 16, 2, 128, 11_008, 151_936], TIED],
  ["Qwen/Qwen2.5-7B", 7_615_616_512, 131_072, [28, 3_584, 28, 4, 128, 18_944, 152_064]],
  ["Qwen/Qwen2.5-14B", 14_770_033_664, 131_072, [48, 5_120, 40, 8, 128, 13_824, 152_064]],
  ["Qwen/Qwen2.5-32B", 32_763_876_352, 131_072, [64, 5_120, 40, 8, 128, 27_648, 152_064]],
  ["Qwen/Qwen2.5-72B", 72_706_203_648, 131_072, [80, 8_192, 64, 8, 128, 29_568, 152_064]],
  ["Qwen/Qwen3-0.6B", 596_049_920, 40_960, [28, 1_024, 16, 8, 128, 3_072, 151_936], TIED],
  ["Qwen/Qwen3-1.7B", 1_720_574_976, 40_960, [28, 2_048, 16, 8, 128, 6_144, 151_936], TIED],
  ["Qwen/Qwen3-4B", 4_022_468_096, 40_960, [36, 2_560, 32, 8, 128, 9_728, 151_936], TIED],
  ["Qwen/Qwen3-8B", 8_190_735_360, 40_960, [36, 4_096, 32, 8, 128, 12_288, 151_936]],
  ["Qwen/Qwen3-14B", 14_768_307_200, 40_960, [40, 5_120, 40, 8, 128, 17_408, 151_936]],
  ["Qwen/Qwen3-32B", 32_762_123_264, 40_960, [64, 5_120, 64, 8, 128, 25_600, 151_936]],
  [
    "Qwen/Qwen3-30B-A3B",
    30_532_122_624,
    40_960,
    [48, 2_048, 32, 4, 128, 6_144, 151_936],
    { activeParametersB: 3.3, experts: { count: 128, active: 8, shared: 0, intermediateSize: 768, denseLayers: 0 } },
  ],
  [
    "Qwen/Qwen3-235B-A22B",
    235_093_634_560,
    40_960,
    [94, 4_096, 64, 4, 128, 12_288, 151_936],
    { activeParametersB: 22, experts: { count: 128, active: 8, shared: 0, intermediateSize: 1_536, denseLayers: 0 } },
  ],
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
  ["microsoft/Phi-3.5-mini-instruct", 3_821_079_552, 131_072, [32, 3_072, 32, 32, 96, 8_192, 32_064]],
  ["microsoft/phi-4", 14_659_507_200, 16_384, [40, 5_120, 40, 10, 128, 17_920, 100_352]],
  ["microsoft/Phi-4-mini-instruct", 3_836_021_760, 131_072, [32, 3_072, 24, 8, 128, 8_192, 200_064], TIED],
  ["allenai/OLMo-2-1124-7B", 7_298_617_344, 4_096, [32, 4_096, 32, 32, 128, 11_008, 100_352]],
  ["allenai/OLMo-2-1124-13B", 13_716_198_400, 4_096, [40, 5_120, 40, 40, 128, 13_824, 100_352]],
  ["HuggingFaceTB/SmolLM2-135M", 134_515_008, 8_192, [30, 576, 9, 3, 64, 1_536, 49_152], TIED],
  ["HuggingFaceTB/SmolLM2-1.7B", 1_711_376_384, 8_192, [24, 2_048, 32, 32, 64, 8_192, 49_152], TIED],
  ["TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1_100_048_384, 2_048, [22, 2_048, 32, 4, 64, 5_632, 32_000]],
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
    "deepseek-ai/DeepSeek-V2-Lite",
    15_706_484_224,
    163_840,
    [27, 2_048, 16, 16, 128, 10_944, 102_400],
    {
      activeParametersB: 2.4,
      experts: { count: 64, active: 6, shared: 2, intermediateSize: 1_408, denseLayers: 1 },
      latentAttention: { rank: 512, ropeDim: 64 },
    },
  ],
  ["deepseek-ai/DeepSeek-V3", 671_026_419_200, 163_840, [61, 7_168, 128, 128, 128, 18_432, 129_280], DEEPSEEK_V3],
  ["deepseek-ai/DeepSeek-R1", 671_026_419_200, 163_840, [61, 7_168, 128, 128, 128, 18_432, 129_280], DEEPSEEK_V3],
];

/** The published models. */
export const KNOWN_MODELS: readonly KnownModel[] = ROWS.map(([id, parameters, maxContext, shape, special = {}]) => {
  const [numLayers, hiddenSize, numHeads, numKvHeads, headDim, intermediateSize, vocabSize] = shape;
  return {
    id,
    parameters,
    maxContext,
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    intermediateSize,
    vocabSize,
    tiedEmbeddings: special.tiedEmbeddings ?? false,
    slidingWindow: special.slidingWindow,
    experts: special.experts,
    latentAttention: special.latentAttention,
    activeParametersB: special.activeParametersB,
    encoderParameters: special.encoderParameters ?? 0,
  };
});
