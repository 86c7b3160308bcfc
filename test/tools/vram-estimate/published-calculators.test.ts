import { describe, expect, it } from "vitest";
import { estimate } from "./estimate.ts";

const GB = 1e9;
const GIB = 2 ** 30;

describe("llama.cpp's published bits per weight (examples/quantize/README.md)", () => {
  const Q = ["q3_k_s", "q3_k_m", "q3_k_l", "q4_k_s", "q4_k_m", "q5_k_s", "q5_k_m", "q6_k"] as const;
  it.each([
    ["meta-llama/Llama-2-7b-hf", [3.5, 3.91, 4.27, 4.58, 4.84, 5.52, 5.68, 6.56], 0.006],
    ["meta-llama/Llama-2-13b-hf", [3.48, 3.89, 4.26, 4.56, 4.83, 5.51, 5.67, 6.56], 0.006],
    // The value tensors of 80-layer models got more bits after the table was published: at most 0.02 bits.
    ["meta-llama/Llama-2-70b-hf", [3.47, 3.85, 4.19, 4.53, 4.8, 5.5, 5.65, 6.56], 0.025],
  ])("of %s", async (model, published, tolerance) => {
    for (const [index, name] of Q.entries()) {
      const { inputs } = await estimate({ model, quantization: `gguf-${name}` });
      expect(Math.abs(inputs.bits_per_weight - (published[index] ?? 0)), name).toBeLessThan(tolerance);
    }
  });
});

describe("sizes of published GGUF files", () => {
  // Files also contain the vocabulary: 7.8 MB with 128256 tokens, 0.7 MB with 32000.
  it.each([
    ["q2_k", 3_179_131_168],
    ["q3_k_s", 3_664_498_976],
    ["q3_k_m", 4_018_917_664],
    ["q3_k_l", 4_321_956_128],
  ])(
    "Llama 3 8B in %s, to the byte but for the vocabulary (ddh0/UnquantizedEmbeddingTesting, sizes.txt)",
    async (mix, file) => {
      const { weights } = await estimate({ model: "Meta-Llama-3-8B", quantization: `gguf-${mix}` });
      expect(file - weights.bytes).toBeGreaterThan(7.7e6);
      expect(file - weights.bytes).toBeLessThan(7.9e6);
    },
  );

  it.each([
    // model, type, file size, half a unit of its last digit, vocabulary (huggingface.co/bartowski)
    ["Meta-Llama-3-8B", "iq2_xxs", 2.4 * GB],
    ["Meta-Llama-3-8B", "iq2_m", 2.95 * GB],
    ["Meta-Llama-3-8B", "iq3_xxs", 3.27 * GB],
    ["Meta-Llama-3-8B", "iq3_m", 3.78 * GB],
    ["Meta-Llama-3-8B", "iq4_xs", 4.45 * GB],
    ["Meta-Llama-3-8B", "iq4_nl", 4.68 * GB],
    ["Mistral-7B-v0.3", "iq2_m", 2.5 * GB],
    ["Mistral-7B-v0.3", "iq4_xs", 3.91 * GB],
    ["Mistral-Small-Instruct-2409", "iq2_m", 7.62 * GB],
    ["Mistral-Small-Instruct-2409", "q2_k", 8.27 * GB],
  ])("%s in %s", async (model, mix, file) => {
    const { weights } = await estimate({ model, quantization: `gguf-${mix}` });
    expect(Math.abs(weights.bytes - file)).toBeLessThan(0.013 * GB);
  });

  it("Kimi K2 in q8_0 is 1016.623 GiB, 8.504 bits per weight (llama.cpp's load log, ik_llama.cpp pull request 616)", async () => {
    const { weights, inputs } = await estimate({ model: "Kimi-K2-Instruct", quantization: "gguf-q8_0" });
    // The file contains kv_b and also its two parts, 61 * 512 * 64 * 256 numbers: 0.05 %.
    expect(Math.abs(weights.bytes / GIB / 1_016.623 - 1)).toBeLessThan(0.001);
    expect(inputs.bits_per_weight).toBeCloseTo(8.504, 2);
  });
});

describe("sizes of published quantised checkpoints", () => {
  it.each([
    ["meta-llama/Llama-2-7b-hf", "awq-int4-g128", 3.89 * GB, 0.005 * GB, "TheBloke/Llama-2-7B-Chat-AWQ"],
    [
      "meta-llama/Llama-2-13b-hf",
      "awq-int4-g128",
      7.25 * GB,
      0.005 * GB,
      "TheBloke/Llama-2-13B-LoRA-Assemble-AWQ",
    ],
    ["openai/gpt-oss-20b", "mxfp4", 12.8 * GIB, 0.05 * GIB, "arXiv 2508.10925, table 1"],
    ["openai/gpt-oss-120b", "mxfp4", 60.8 * GIB, 0.05 * GIB, "arXiv 2508.10925, table 1"],
  ])("%s in %s", async (model, quantization, published, tolerance) => {
    const { weights } = await estimate({ model, quantization });
    expect(Math.abs(weights.bytes - published)).toBeLessThanOrEqual(tolerance);
  });
});

describe("weights as vLLM logs them after loading", () => {
  it.each([
    // model, GPUs, GiB each, tolerance: vLLM also holds rotary embedding tables
    ["meta-llama/Llama-2-7b-hf", 1, 12.5562, 0.005, "vllm pull request 6234"],
    ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 8, 16.461, 0.04, "vllm-ascend issue 2235"],
    ["Qwen/Qwen3-4B", 1, 7.6785, 0.2, "amd-strix-halo-vllm-toolboxes pull request 5"],
    ["Qwen/Qwen3.5-35B-A3B", 1, 65.53, 0.15, "kiji-inspector, Qwen3.6 of the same shape"],
  ])("%s on %d", async (model, tensor_parallel, published, tolerance) => {
    const { per_gpu } = await estimate({ model, tensor_parallel });
    expect(Math.abs(per_gpu.weights.bytes / GIB - published)).toBeLessThanOrEqual(tolerance);
  });
});

describe("accelerate's estimate-memory", () => {
  it.each([
    // model, dtype, GiB as published by the model-sizer bot, which also counts rotary embedding tables, 2 %
    // for 32k tokens.
    ["meta-llama/Llama-2-70b-hf", "float32", 256.29, 0.005, "TheBloke/Llama-2-70B-Chat-GPTQ, discussion 45"],
    ["meta-llama/Llama-2-70b-hf", "float16", 128.15, 0.005, "TheBloke/Llama-2-70B-Chat-GPTQ, discussion 45"],
    ["meta-llama/Llama-2-70b-hf", "int8", 64.07, 0.005, "TheBloke/Llama-2-70B-Chat-GPTQ, discussion 45"],
    ["meta-llama/Llama-2-70b-hf", "int4", 32.04, 0.005, "TheBloke/Llama-2-70B-Chat-GPTQ, discussion 45"],
    ["mistralai/Mistral-7B-v0.1", "float32", 27.49, 0.02, "HuggingFaceH4/zephyr-7b-alpha, discussion 21"],
    ["mistralai/Mistral-7B-v0.1", "float16", 13.74, 0.02, "HuggingFaceH4/zephyr-7b-alpha, discussion 21"],
  ])("%s in %s", async (model, dtype, published, tolerance) => {
    const { weights } = await estimate({ model, dtype });
    expect(Math.abs(weights.bytes / GIB / published - 1)).toBeLessThan(tolerance);
  });

  it("says four times the weights for training in float32, as we do", async () => {
    const { weights, gradients, optimizer_state } = await estimate({
      model: "meta-llama/Llama-2-70b-hf",
      dtype: "float32",
      mode: "training",
    });
    // "Training using Adam: 1.0 TB"
    const states = weights.bytes + gradients.bytes + optimizer_state.bytes;
    expect(states).toBe(4 * weights.bytes);
    expect(Math.abs(states / GIB / 1_024 - 1)).toBeLessThan(0.05);
  });
});
