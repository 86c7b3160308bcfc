import { describe, expect, it } from "vitest";
import { findModel, KNOWN_MODELS } from "../../../src/tools/vram-estimate/models.ts";
import { countActiveParameters, countParameters } from "../../../src/tools/vram-estimate/tensors.ts";

const EACH_MODEL = KNOWN_MODELS.map((model) => [model.id, model] as const);

describe("table of models", () => {
  it("has at least 60 models without duplicates", () => {
    expect(KNOWN_MODELS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(KNOWN_MODELS.map(({ id }) => id.toLowerCase())).size).toBe(KNOWN_MODELS.length);
  });

  it.each(EACH_MODEL)(
    "%s has as many parameters as its architecture gives, to a thousandth",
    (_id, model) => {
      const counted = countParameters(model) + model.encoderParameters;
      // Norms and biases come on top, so matrices never exceed the total.
      expect(counted).toBeLessThanOrEqual(model.parameters);
      expect(Math.abs(counted / model.parameters - 1)).toBeLessThan(0.001);
    },
  );

  it.each([
    // Billions stated by model cards, papers or announcements, with half a unit of the last digit.
    ["meta-llama/Llama-4-Scout-17B-16E", 109, 0.5],
    ["meta-llama/Llama-4-Maverick-17B-128E", 400, 2],
    ["mistralai/Mistral-Small-3.2-24B-Instruct-2506", 24, 0.5],
    ["Qwen/Qwen3-Coder-480B-A35B-Instruct", 480, 0.5],
    ["Qwen/Qwen3-Next-80B-A3B-Instruct", 80, 0.5],
    ["Qwen/Qwen3.5-397B-A17B", 397, 0.5],
    ["deepseek-ai/DeepSeek-V2", 236, 0.5],
    ["deepseek-ai/DeepSeek-V2-Lite", 15.7, 0.05],
    ["deepseek-ai/DeepSeek-V3", 671, 0.5],
    ["deepseek-ai/DeepSeek-R1", 671, 0.5],
    ["moonshotai/Kimi-K2-Instruct", 1_027, 0.6],
    ["zai-org/GLM-4.5", 355, 3],
    ["zai-org/GLM-4.5-Air", 106, 1],
    ["MiniMaxAI/MiniMax-M2.5", 230, 2],
    ["CohereLabs/c4ai-command-r-v01", 35, 0.5],
    ["CohereLabs/c4ai-command-r-plus", 104, 0.5],
    ["ibm-granite/granite-3.1-8b-instruct", 8.1, 0.1],
    ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6, 0.05],
    ["openai/gpt-oss-120b", 116.83, 0.005],
    ["openai/gpt-oss-20b", 20.91, 0.005],
  ])("%s has the %d billion parameters its publisher states", (name, published, tolerance) => {
    expect(Math.abs((findModel(name)?.parameters ?? 0) / 1e9 - published)).toBeLessThanOrEqual(tolerance);
  });

  it.each(EACH_MODEL.filter(([, { experts }]) => experts))(
    "%s has the active parameters its model card states, with or without embeddings",
    (_id, model) => {
      const active = countActiveParameters(model, model.parameters) / 1e9;
      const embeddings = (2 * model.vocabSize * model.hiddenSize + model.encoderParameters) / 1e9;
      const said = model.activeParametersB ?? 0;
      // Cards round to whole billions; small ones round down.
      expect(said).toBeLessThanOrEqual(Math.max(active * 1.05, active + 0.5));
      expect(said).toBeGreaterThanOrEqual(Math.min((active - embeddings) * 0.95, active - embeddings - 0.5));
    },
  );

  it.each(EACH_MODEL)("%s has consistent heads and layers", (_id, model) => {
    expect(model.numHeads % model.numKvHeads).toBe(0);
    expect(model.slidingWindow?.layers ?? 0).toBeLessThanOrEqual(model.numLayers);
    expect(model.attentionLayers + (model.recurrent?.layers ?? 0)).toBeLessThanOrEqual(model.numLayers);
    expect((model.activeParametersB ?? 0) * 1e9).toBeLessThan(model.parameters);
    expect(model.experts === undefined).toBe(model.activeParametersB === undefined);
  });
});

describe("model names", () => {
  it.each([
    ["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf"],
    ["META-LLAMA/LLAMA-2-7B-HF", "meta-llama/Llama-2-7b-hf"],
    ["llama-2-7b", "meta-llama/Llama-2-7b-hf"],
    ["meta-llama/Llama-2-7b-chat-hf", "meta-llama/Llama-2-7b-hf"],
    ["Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"],
    ["mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"],
    ["gemma-2-9b-it", "google/gemma-2-9b"],
    ["deepseek-r1", "deepseek-ai/DeepSeek-R1"],
    ["meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Scout-17B-16E"],
    ["qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"],
    ["qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"],
  ])("%s finds %s", (name, id) => {
    expect(findModel(name)?.id).toBe(id);
  });

  it.each([
    "llama",
    "",
    "-",
    "someone-else/Llama-2-7b-hf",
    "Llama-2-7b-hf-extended",
    "__proto__",
    "constructor",
  ])("%j finds nothing", (name) => {
    expect(findModel(name)).toBeUndefined();
  });
});
