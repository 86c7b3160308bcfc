import { describe, expect, it } from "vitest";
import { countParameters } from "../../../src/tools/vram-estimate/architecture.ts";
import { findModel } from "../../../src/tools/vram-estimate/find-model.ts";
import { KNOWN_MODELS } from "../../../src/tools/vram-estimate/models.ts";

describe("the table of models", () => {
  it("has at least 25 models, each once", () => {
    expect(KNOWN_MODELS.length).toBeGreaterThanOrEqual(25);
    expect(new Set(KNOWN_MODELS.map(({ id }) => id.toLowerCase())).size).toBe(KNOWN_MODELS.length);
  });

  it.each(
    KNOWN_MODELS.filter((model) => model.latentAttention === undefined).map((model) => [model.id, model] as const),
  )(
    "%s has as many parameters as its architecture gives, to a thousandth: no number of the row is mistyped",
    (_id, model) => {
      const counted = countParameters(model) + model.encoderParameters;
      expect(Math.abs(counted / model.parameters - 1)).toBeLessThan(0.001);
    },
  );

  it.each([
    ["deepseek-ai/DeepSeek-V3", 671],
    ["deepseek-ai/DeepSeek-R1", 671],
    ["deepseek-ai/DeepSeek-V2-Lite", 15.7],
  ])("%s has the %d billion parameters of its model card", (name, published) => {
    expect(Math.round((findModel(name)?.parameters ?? 0) / 1e8) / 10).toBe(published);
  });

  it.each(KNOWN_MODELS.map((model) => [model.id, model] as const))(
    "%s has heads and layers that go together",
    (_id, model) => {
      expect(model.numHeads % model.numKvHeads).toBe(0);
      expect(model.slidingWindow?.layers ?? 0).toBeLessThanOrEqual(model.numLayers);
      expect((model.activeParametersB ?? 0) * 1e9).toBeLessThan(model.parameters);
      expect(model.experts === undefined).toBe(model.activeParametersB === undefined);
    },
  );
});

describe("a model's name", () => {
  it.each([
    ["meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf"],
    ["META-LLAMA/LLAMA-2-7B-HF", "meta-llama/Llama-2-7b-hf"],
    ["llama-2-7b", "meta-llama/Llama-2-7b-hf"],
    ["meta-llama/Llama-2-7b-chat-hf", "meta-llama/Llama-2-7b-hf"],
    ["Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"],
    ["mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"],
    ["gemma-2-9b-it", "google/gemma-2-9b"],
    ["deepseek-r1", "deepseek-ai/DeepSeek-R1"],
  ])("%s finds %s", (name, id) => {
    expect(findModel(name)?.id).toBe(id);
  });

  it.each(["llama", "", "-", "someone-else/Llama-2-7b-hf", "Llama-2-7b-hf-extended", "__proto__", "constructor"])(
    "%j finds nothing",
    (name) => {
      expect(findModel(name)).toBeUndefined();
    },
  );
});
