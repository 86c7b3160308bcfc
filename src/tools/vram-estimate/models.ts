import { COHERE_LABS } from "./models/cohere-labs.ts";
import { DEEPSEEK_AI } from "./models/deepseek-ai.ts";
import { GOOGLE } from "./models/google.ts";
import { META_LLAMA } from "./models/meta-llama.ts";
import { MICROSOFT } from "./models/microsoft.ts";
import { MISTRALAI } from "./models/mistralai.ts";
import { NVIDIA } from "./models/nvidia.ts";
import { OPEN_SCIENCE } from "./models/open-science.ts";
import { OTHERS } from "./models/others.ts";
import { QWEN } from "./models/qwen.ts";
import { ZAI_ORG } from "./models/zai-org.ts";
import { modelOf, type KnownModel } from "./models/row.ts";

export type { KnownModel };

/** The published models, by publisher. */
export const KNOWN_MODELS: readonly KnownModel[] = [
  ...META_LLAMA,
  ...MISTRALAI,
  ...QWEN,
  ...GOOGLE,
  ...DEEPSEEK_AI,
  ...NVIDIA,
  ...ZAI_ORG,
  ...COHERE_LABS,
  ...MICROSOFT,
  ...OPEN_SCIENCE,
  ...OTHERS,
].map(modelOf);
