import { describe, expect, it } from "vitest";
import { estimate } from "./estimate.ts";

const GB = 1e9;
const GIB = 2 ** 30;
const MIB = 2 ** 20;
const KIB = 2 ** 10;
/** Inference memory requirements. */
const BLOG = "huggingface.co/blog/llama31";

describe("weights agree with published sizes", () => {
  it.each([
    // model, dtype, published bytes, half a unit of the last digit, source
    [
      "meta-llama/Llama-2-7b-hf",
      "float16",
      12.55 * GIB,
      0.005 * GIB,
      "llama.cpp's load log: 12.55 GiB (16.00 BPW)",
    ],
    ["meta-llama/Llama-2-7b-hf", "float16", 13.48 * GB, 0.005 * GB, "size of its two safetensors files"],
    ["meta-llama/Llama-3.1-8B", "float16", 16 * GB, 0.5 * GB, BLOG],
    ["meta-llama/Llama-3.1-70B", "float16", 140 * GB, 2 * GB, BLOG],
    ["meta-llama/Llama-3.1-405B", "float16", 810 * GB, 2 * GB, BLOG],
    ["meta-llama/Llama-3.1-8B", "int4", 4 * GB, 0.5 * GB, BLOG],
    ["meta-llama/Llama-3.1-405B", "int4", 203 * GB, 0.5 * GB, BLOG],
    ["meta-llama/Llama-2-7b-hf", "float32", 26.07 * GIB, 1 * GIB, "lit-llama issue 67: 7e9 * 4 / 1024**3"],
  ])("%s in %s", async (model, dtype, published, tolerance) => {
    const { weights } = await estimate({ model, dtype });
    expect(Math.abs(weights.bytes - published)).toBeLessThanOrEqual(tolerance);
  });
});

describe("the key-value cache agrees with published sizes", () => {
  it.each([
    ["meta-llama/Meta-Llama-3-70B", 320 * KIB, "IETF draft-calabria-bmwg-ai-fabric-inference-bench"],
    ["mistralai/Mistral-7B-v0.3", 128 * KIB, "128k tokens are 16 GiB (InfLLM issue 14)"],
    ["meta-llama/Llama-2-7b-hf", 512 * KIB, "2 * 32 layers * 32 heads * 128 * 2 bytes"],
    ["deepseek-ai/DeepSeek-V3", 70_272, "arXiv 2505.09343, table 1: 70.272 KB"],
    ["Qwen/Qwen2.5-72B", 327_680, "arXiv 2505.09343, table 1: 327.680 KB"],
    ["meta-llama/Llama-3.1-405B", 516_096, "arXiv 2505.09343, table 1: 516.096 KB"],
  ])("per token of %s", async (model, published) => {
    expect((await estimate({ model })).kv_cache_bytes_per_token).toBe(published);
  });

  it.each([
    ["meta-llama/Llama-3.1-8B", 1_024, 0.125 * GIB, "huggingface.co/blog/llama31, 1k tokens"],
    ["meta-llama/Llama-3.1-8B", 16_000, 1.95 * GIB, "huggingface.co/blog/llama31, 16k tokens"],
    ["meta-llama/Llama-3.1-8B", 128_000, 15.62 * GIB, "huggingface.co/blog/llama31, 128k tokens"],
    ["meta-llama/Llama-3.1-70B", 16_000, 4.88 * GIB, "huggingface.co/blog/llama31, 16k tokens"],
    ["meta-llama/Llama-3.1-70B", 128_000, 39.06 * GIB, "huggingface.co/blog/llama31, 128k tokens"],
    [
      "meta-llama/Meta-Llama-3-70B",
      4_096,
      1_342_177_280,
      "IETF draft-calabria-bmwg-ai-fabric-inference-bench",
    ],
    ["deepseek-ai/DeepSeek-R1", 32_768, 2_196 * MIB, "llama.cpp pull request 11446"],
  ])("of %s at %d tokens", async (model, context_length, published) => {
    const { kv_cache } = await estimate({ model, context_length });
    expect(Math.abs(kv_cache.bytes - published)).toBeLessThanOrEqual(0.005 * published);
  });

  it("of OPT-13B is 800 KB a token (PagedAttention, arXiv 2309.06180, section 3)", async () => {
    const opt = {
      parameters_b: 13,
      num_layers: 40,
      hidden_size: 5_120,
      num_attention_heads: 40,
      vocab_size: 50_272,
    };
    const { kv_cache_bytes_per_token, weights } = await estimate(opt);
    expect(kv_cache_bytes_per_token).toBe(800 * KIB);
    expect(weights.bytes).toBe(26 * GB);
  });

  it("of Mistral 7B v0.1 at 32k tokens is an eighth of what it were without the sliding window (arXiv 2310.06825, section 2)", async () => {
    const windowed = await estimate({ model: "mistralai/Mistral-7B-v0.1", context_length: 32_768 });
    const full = await estimate({ model: "mistralai/Mistral-7B-v0.3", context_length: 32_768 });
    expect(windowed.kv_cache.bytes * 8).toBe(full.kv_cache.bytes);
  });
});

describe("training agrees with published sizes", () => {
  it.each([
    [1.5, 24 * GB, "arXiv 1910.02054, section 3.1: GPT-2 with 1.5 billion parameters"],
    [7.5, 120 * GB, "arXiv 1910.02054, figure 1: 7.5 billion parameters"],
  ])(
    "the model states of %d billion parameters with AdamW in mixed precision",
    async (parameters_b, published) => {
      const { weights, gradients, optimizer_state } = await estimate({ parameters_b, mode: "training" });
      expect(weights.bytes + gradients.bytes + optimizer_state.bytes).toBe(published);
    },
  );

  it("the activations of GPT-3 are 34 and 80 units without recomputation, 34 with the selective one and 2 with the full one (arXiv 2205.05198, section 5)", async () => {
    const gpt3 = {
      parameters_b: 175,
      num_layers: 96,
      hidden_size: 12_288,
      num_attention_heads: 96,
      vocab_size: 51_200,
      mode: "training",
      context_length: 2_048,
    };
    const unit = 96 * 2_048 * 12_288;
    const logits = 4 * 2_048 * 51_200;
    const none = await estimate({ ...gpt3, activation_recomputation: "none" });
    const selective = await estimate({ ...gpt3, activation_recomputation: "selective" });
    const full = await estimate({ ...gpt3, activation_recomputation: "full" });
    expect((none.activations.bytes - logits) / unit).toBe(34 + 80);
    expect((selective.activations.bytes - logits) / unit).toBe(34);
    // Table 2: 2 units for the inputs of all layers, plus the layer being recomputed.
    expect((full.activations.bytes - logits) / unit).toBe(2 + (34 + 80) / 96);
  });
});

describe("what fits is what people run", () => {
  it.each([
    // model, dtype, GPU, number of GPUs for 8k tokens of context
    ["meta-llama/Meta-Llama-3-8B", "float16", "NVIDIA L4 24GB", 1],
    ["meta-llama/Meta-Llama-3-8B", "float16", "NVIDIA T4 16GB", 2],
    ["meta-llama/Meta-Llama-3-8B", "int4", "NVIDIA GeForce RTX 3060 12GB", 1],
    ["meta-llama/Meta-Llama-3-70B", "float16", "NVIDIA A100 80GB", 2],
    ["meta-llama/Meta-Llama-3-70B", "int4", "NVIDIA RTX A6000 48GB", 1],
    ["mistralai/Mixtral-8x7B-v0.1", "float16", "NVIDIA A100 80GB", 2],
    // 8 and not 6: 6 does not divide 128 heads.
    ["meta-llama/Llama-3.1-405B", "int8", "NVIDIA H100 80GB", 8],
  ])("%s in %s on %s", async (model, dtype, gpu, needed) => {
    const { gpus } = await estimate({ model, dtype, context_length: 8_192 });
    expect(gpus.find(({ name }) => name === gpu)).toMatchObject({ needed, fits: needed === 1 });
  });
});
