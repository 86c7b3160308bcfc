import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KNOWN_MODELS } from "../../../src/tools/vram-estimate/models.ts";
import { NO_DEPS } from "../no-deps.ts";
import { vramEstimate } from "../../../src/tools/vram-estimate/tool.ts";
import { refusalOf } from "../tool-context.ts";
import { estimate } from "./estimate.ts";

const tool = vramEstimate.make(NO_DEPS, { flat_microusd: 1_000n });

describe("estimate", () => {
  it("costs the flat price", () => {
    expect(tool.fixedPrice).toBe(1_000n);
    expect(tool.prepare({ model: "llama-2-7b" }).price).toBe(1_000n);
    expect(tool.prepare({ parameters_b: 400, mode: "training" }).price).toBe(1_000n);
  });

  it("never shrinks when context or batch grow", async () => {
    const model = fc.constantFrom(
      "gemma-3-27b",
      "Mistral-7B-v0.1",
      "DeepSeek-V3",
      "gpt-oss-20b",
      "Qwen3.5-27B",
    );
    await fc.assert(
      fc.asyncProperty(
        model,
        fc.integer({ min: 1, max: 16_000 }),
        fc.integer({ min: 1, max: 64 }),
        fc.boolean(),
        async (name, tokens, batch, training) => {
          const mode = training ? "training" : "inference";
          const small = await estimate({ model: name, mode, context_length: tokens, batch_size: batch });
          const long = await estimate({ model: name, mode, context_length: tokens + 100, batch_size: batch });
          const wide = await estimate({ model: name, mode, context_length: tokens, batch_size: batch + 1 });
          expect(long.total.bytes).toBeGreaterThanOrEqual(small.total.bytes);
          expect(wide.total.bytes).toBeGreaterThan(small.total.bytes);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("keeps the cache in 16 bits for quantised weights by default", async () => {
    const inSixteen = await estimate({ model: "llama-2-7b", dtype: "int4" });
    const inEight = await estimate({ model: "llama-2-7b", dtype: "int4", kv_cache_dtype: "int8" });
    expect(inSixteen.inputs["kv_cache_dtype"]).toBe("float16");
    expect(inEight.kv_cache.bytes * 2).toBe(inSixteen.kv_cache.bytes);
  });

  it("limits windowed layers to their window: gemma-3-27b at 128k tokens", async () => {
    const { kv_cache } = await estimate({ model: "google/gemma-3-27b-it", context_length: 131_072 });
    expect(kv_cache.bytes).toBe((52 * 1_024 + 10 * 131_072) * 2 * 16 * 128 * 2);
  });

  it("has no cache in training and no gradients in inference", async () => {
    const training = await estimate({ model: "llama-2-7b", mode: "training" });
    const inference = await estimate({ model: "llama-2-7b" });
    expect([training.kv_cache.bytes, training.kv_cache_bytes_per_token]).toEqual([0, 0]);
    expect([inference.gradients.bytes, inference.optimizer_state.bytes]).toEqual([0, 0]);
  });

  it("counts 16 bytes per parameter in float32 too", async () => {
    const { weights, gradients, optimizer_state } = await estimate({
      parameters_b: 1,
      dtype: "float32",
      mode: "training",
    });
    expect([weights.bytes, gradients.bytes, optimizer_state.bytes]).toEqual([4e9, 4e9, 8e9]);
  });

  it("doubles the layers' activations in float32, but not the logits, which always have 32 bits", async () => {
    const half = await estimate({ model: "llama-2-7b", mode: "training" });
    const single = await estimate({ model: "llama-2-7b", mode: "training", dtype: "float32" });
    const logits = 4 * 4_096 * 32_000;
    expect(single.activations.bytes - logits).toBe(2 * (half.activations.bytes - logits));
  });

  it("processes prompts in chunks: activations stop growing beyond 8192 tokens", async () => {
    const [short, chunk, long] = await Promise.all(
      [4_096, 8_192, 131_072].map((context_length) => estimate({ model: "llama-3.1-8b", context_length })),
    );
    expect(chunk?.activations.bytes).toBeGreaterThan(short?.activations.bytes ?? Infinity);
    expect(long?.activations.bytes).toBe(chunk?.activations.bytes);
  });

  it("states the architecture assumed for a bare number of parameters", async () => {
    const { inputs, assumptions } = await estimate({ parameters_b: 7 });
    expect(assumptions.join("\n")).toContain("estimated from parameters_b");
    expect(12 * inputs.num_layers * Number(inputs["hidden_size"]) ** 2).toBeGreaterThan(0.8 * 7e9);
    expect(12 * inputs.num_layers * Number(inputs["hidden_size"]) ** 2).toBeLessThan(1.2 * 7e9);
  });

  it("counts the parameters of an architecture: Llama 2 7B from its config.json", async () => {
    const { inputs } = await estimate({
      num_layers: 32,
      hidden_size: 4_096,
      num_attention_heads: 32,
      intermediate_size: 11_008,
      vocab_size: 32_000,
    });
    expect(Math.abs(inputs.parameters / 6_738_415_616 - 1)).toBeLessThan(0.001);
  });

  it("prefers parameters_b to its own count", async () => {
    const { inputs } = await estimate({ parameters_b: 9, num_layers: 32, hidden_size: 4_096 });
    expect(inputs.parameters).toBe(9e9);
  });

  it("names the source of a published model's numbers", async () => {
    const { model, inputs } = await estimate({ model: "mixtral-8x7b-v0.1" });
    expect(model).toBe("mistralai/Mixtral-8x7B-v0.1");
    expect(inputs).toMatchObject({ active_parameters_b: 12.9, experts: { count: 8, active: 2 } });
    expect(inputs["source"]).toContain("https://huggingface.co/mistralai/Mixtral-8x7B-v0.1");
  });

  it.each([
    ["Mistral-7B-v0.1", "sliding window"],
    ["DeepSeek-V3", "kv_lora_rank"],
    ["Mixtral-8x7B-v0.1", "all experts are in memory"],
    ["gemma-3-4b", "image encoder"],
  ])("states what is special about %s: %s", async (model, words) => {
    expect((await estimate({ model })).assumptions.join("\n")).toContain(words);
  });

  it("uses 4096 tokens by default, or the model's maximum", async () => {
    expect((await estimate({ model: "llama-3.1-8b" })).inputs.context_length).toBe(4_096);
    expect((await estimate({ model: "TinyLlama/TinyLlama-1.1B-Chat-v1.0" })).inputs.context_length).toBe(
      2_048,
    );
  });
});

describe("invalid parameters", () => {
  it.each([
    ["{}", ": give a model, or parameters_b, or the architecture (num_layers, hidden_size, …)"],
    ['{"model":"llama-2-7b","parameters_b":7}', ".parameters_b: cannot go together with model"],
    ['{"model":"llama-2-7b","num_layers":32}', ".num_layers: cannot go together with model"],
    [
      '{"model":"meta-llama/Llama-2-7b-x"}',
      ".model: is not in the table; give parameters_b or the architecture instead; the closest " +
        `of ${KNOWN_MODELS.length} are meta-llama/Llama-2-7b-hf, `,
    ],
    ['{"model":"__proto__"}', ".model: is not in the table"],
    ['{"model":7}', ".model: must be a string, not a number"],
    ['{"model":""}', ".model: must have at least 1 character"],
    ['{"parameters_b":"7"}', ".parameters_b: must be a number, not a string"],
    ['{"parameters_b":0}', ".parameters_b: must be at least 0.000001"],
    ['{"parameters_b":-7}', ".parameters_b: must be at least 0.000001"],
    ['{"parameters_b":1e300}', ".parameters_b: must be at most 100000"],
    ['{"parameters_b":1e999}', ".parameters_b: "],
    ['{"parameters_b":7,"context_length":0}', ".context_length: must be at least 1"],
    ['{"parameters_b":7,"context_length":1.5}', ".context_length: must be a whole number, not a fraction"],
    ['{"parameters_b":7,"context_length":1e15}', ".context_length: must be at most 10000000"],
    ['{"parameters_b":7,"batch_size":"2"}', ".batch_size: must be a number, not a string"],
    ['{"parameters_b":7,"batch_size":null}', ".batch_size: must be a number, not null"],
    [
      '{"parameters_b":7,"dtype":"fp16"}',
      '.dtype: must be one of "float32", "float16", "bfloat16", "int8", "int4"',
    ],
    ['{"parameters_b":7,"mode":"finetune"}', '.mode: must be one of "inference", "training"'],
    [
      '{"parameters_b":7,"mode":"training","dtype":"int8"}',
      ".dtype: training needs float32, float16 or bfloat16",
    ],
    [
      '{"parameters_b":7,"mode":"training","kv_cache_dtype":"int8"}',
      ".kv_cache_dtype: training keeps no key-value cache; leave it out",
    ],
    [
      '{"parameters_b":7,"activation_recomputation":"full"}',
      ".activation_recomputation: has a meaning only in training",
    ],
    ['{"num_layers":32}', ".hidden_size: is required when the architecture is given"],
    ['{"hidden_size":4096}', ".num_layers: is required when the architecture is given"],
    ['{"head_dim":128}', ".num_layers: is required when the architecture is given"],
    [
      '{"num_layers":2,"hidden_size":512,"num_attention_heads":8,"num_kv_heads":3}',
      ".num_kv_heads: must divide the number of query heads, 8",
    ],
    [
      '{"num_layers":2,"hidden_size":500,"num_attention_heads":3}',
      ".head_dim: is required, as hidden_size 500 is not a multiple",
    ],
    [
      '{"model":"llama-2-7b","context_length":4097}',
      ".context_length: must be at most 4096 for meta-llama/Llama-2-7b-hf",
    ],
    ['{"parameters_b":7,"gpu":"H100"}', ".gpu: is unknown, leave it out, there are model, parameters_b, "],
    ['{"parameters_b":7,"__proto__":{"dtype":"int4"}}', ".__proto__: is unknown"],
    [
      '{"num_layers":10000,"hidden_size":1000000}',
      ": the architecture has more than 100000 billion parameters",
    ],
    [
      '{"parameters_b":100000,"context_length":10000000,"batch_size":65536}',
      ": the estimate exceeds 8 PiB; lower batch_size",
    ],
  ])("%s", (params, refusal) => {
    expect(refusalOf(tool, params)).toContain(`INVALID_REQUEST params${refusal}`);
  });
});
