import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { QUANTIZATIONS } from "../../../src/tools/vram-estimate/quantization.ts";
import { NO_DEPS } from "../no-deps.ts";
import { vramEstimate } from "../../../src/tools/vram-estimate/tool.ts";
import { refusalOf } from "../tool-context.ts";
import { estimate } from "./estimate.ts";

const tool = vramEstimate.make(NO_DEPS, { flat_microusd: 1_000n });
const page = readFileSync(new URL("../../../docs/reference/tools.md", import.meta.url), "utf8");

describe("quantised models", () => {
  it.each(QUANTIZATIONS)(
    "are smaller in %s than in 16 bits, and not smaller than its bits allow",
    async (quantization) => {
      const { inputs, weights } = await estimate({ model: "Llama-3.1-8B", quantization });
      expect(inputs["quantization"]).toBe(quantization);
      expect(inputs.bits_per_weight).toBeLessThan(12);
      expect(inputs.bits_per_weight).toBeGreaterThan(2);
      expect(weights.bytes).toBe(Math.round(weights.bytes));
      expect(page).toContain(`\`${quantization}\``);
    },
  );

  it.each([
    // Square matrices only; a vocabulary of one makes embeddings negligible.
    ["gptq-int4-g128", 4.156 + 32 / 4_096],
    ["gptq-int4-g32", 4.625 + 32 / 4_096],
    ["gptq-int8-g128", 8.1875 + 32 / 4_096],
    ["awq-int4-g128", 4.156],
    ["bnb-nf4", 4.5],
    ["bnb-nf4-double", 4.127],
    ["bnb-int8", 8 + 32 / 4_096],
    ["fp8", 8 + 32 / 4_096],
    ["fp8-block128", 8.002],
    ["mxfp4", 4.25],
    ["nvfp4", 4.5],
    ["gguf-q4_0", 4.5],
    ["gguf-q6_k", 6.5625],
    ["gguf-q8_0", 8.5],
  ])("have the format's bits in a square matrix of 4096: %s", async (quantization, bits) => {
    const square = { hidden_size: 4_096, intermediate_size: 4_096, num_attention_heads: 32, vocab_size: 1 };
    const { inputs } = await estimate({ num_layers: 4, ...square, quantization });
    expect(inputs.bits_per_weight).toBeCloseTo(bits, 2);
  });

  it("keep embeddings and head in 16 bits, except in GGUF files", async () => {
    const shape = { num_layers: 1, hidden_size: 4_096, num_attention_heads: 32, intermediate_size: 4_096 };
    const bytesPerToken = async (quantization: string) => {
      const few = await estimate({ ...shape, vocab_size: 1_000, quantization });
      const many = await estimate({ ...shape, vocab_size: 2_000, quantization });
      return (many.weights.bytes - few.weights.bytes) / 1_000;
    };
    expect(await bytesPerToken("awq-int4-g128")).toBe(2 * 4_096 * 2);
    expect(await bytesPerToken("gguf-q4_k_m")).toBe((4_096 * (4.5 + 6.5625)) / 8);
  });

  it("quantise only the experts of a mixture in mxfp4, at 4.25 bits", async () => {
    const mixture = await estimate({ model: "gpt-oss-20b", quantization: "mxfp4" });
    const experts = 24 * 32 * 3 * 2_880 * 2_880;
    expect(mixture.weights.bytes).toBe((experts * 17) / 32 + (mixture.inputs.parameters - experts) * 2);
    const dense = await estimate({ model: "Llama-3.1-8B", quantization: "mxfp4" });
    expect(dense.weights.bytes).toBe(
      (32 * 218_103_808 * 17) / 32 + (dense.inputs.parameters - 32 * 218_103_808) * 2,
    );
  });

  it("fall back to smaller blocks if rows are not a multiple of 256: Qwen2.5 0.5B, 896 wide", async () => {
    const narrow = await estimate({ model: "Qwen2.5-0.5B", quantization: "gguf-q4_k_m" });
    const wide = await estimate({ model: "Qwen2.5-1.5B", quantization: "gguf-q4_k_m" });
    expect(narrow.inputs.bits_per_weight).toBeGreaterThan(wide.inputs.bits_per_weight + 0.5);
  });

  it("keep an image encoder in 16 bits", async () => {
    const { weights, inputs } = await estimate({
      model: "Mistral-Small-3.2-24B-Instruct-2506",
      quantization: "gguf-q8_0",
    });
    const text = await estimate({ model: "Mistral-Small-24B-Instruct-2501", quantization: "gguf-q8_0" });
    expect(weights.bytes - text.weights.bytes).toBe(2 * 438_958_080);
    expect(inputs.parameters - text.inputs.parameters).toBe(438_958_080);
  });

  it("keep cache and activations in 16 bits", async () => {
    const whole = await estimate({ model: "Llama-3.1-8B" });
    const { kv_cache, activations } = await estimate({ model: "Llama-3.1-8B", quantization: "bnb-nf4" });
    expect({ kv_cache, activations }).toEqual({ kv_cache: whole.kv_cache, activations: whole.activations });
  });

  it("can be estimated from their size alone", async () => {
    const { weights, inputs } = await estimate({ parameters_b: 7, quantization: "gguf-q4_k_m" });
    expect(inputs.bits_per_weight).toBeGreaterThan(4.5);
    expect(weights.bytes).toBeLessThan(7e9 * 0.65);
    const shape = { num_layers: 32, hidden_size: 4_096, num_attention_heads: 32, vocab_size: 32_000 };
    const described = await estimate({ ...shape, quantization: "gguf-q4_k_m" });
    expect(described.inputs.bits_per_weight).toBeCloseTo(4.84, 1);
  });
});

describe("invalid quantization", () => {
  it.each([
    ['{"model":"llama-2-7b","quantization":"q4_k_m"}', '.quantization: must be one of "gptq-int4-g128", '],
    ['{"model":"llama-2-7b","quantization":4}', ".quantization: must be "],
    [
      '{"model":"llama-2-7b","quantization":"fp8","mode":"training"}',
      ".quantization: training needs whole weights; leave it out",
    ],
    [
      '{"model":"llama-2-7b","quantization":"fp8","dtype":"int8"}',
      ".dtype: cannot go together with quantization",
    ],
    ['{"model":"llama-2-7b","quantization":"fp8","dtype":"float32"}', ".dtype: cannot go together"],
  ])("%s", (params, refusal) => {
    expect(refusalOf(tool, params)).toContain(`INVALID_REQUEST params${refusal}`);
  });
});
