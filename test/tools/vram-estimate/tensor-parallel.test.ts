import { describe, expect, it } from "vitest";
import { findModel, KNOWN_MODELS } from "../../../src/tools/vram-estimate/models.ts";
import { feasible } from "../../../src/tools/vram-estimate/gpus.ts";
import { NO_DEPS } from "../no-deps.ts";
import { vramEstimate } from "../../../src/tools/vram-estimate/tool.ts";
import { refusalOf } from "../tool-context.ts";
import { estimate, expectToAddUp } from "./estimate.ts";

const tool = vramEstimate.make(NO_DEPS, { flat_microusd: 1_000n });
const MIB = 2 ** 20;

describe("tensor parallelism", () => {
  it("changes nothing on one GPU", async () => {
    for (const mode of ["inference", "training"]) {
      const { per_gpu, ...whole } = await estimate({ model: "Llama-3.1-70B", mode });
      const { tensor_parallel, kv_heads, replicated_weights, communication, ...parts } = per_gpu;
      expect(whole).toMatchObject(parts);
      expect([tensor_parallel, kv_heads, replicated_weights.bytes, communication.bytes]).toEqual([
        1, 8, 0, 0,
      ]);
    }
  });

  it("adds up to the total per GPU for every model and every possible number of GPUs", async () => {
    for (const { id } of KNOWN_MODELS.filter((_, index) => index % 5 === 0))
      expectToAddUp(await estimate({ model: id, tensor_parallel: largest(id) }));
  });

  it("splits matrices and heads, and replicates norms: Llama 3.1 8B on 4 GPUs", async () => {
    const { per_gpu } = await estimate({ model: "Llama-3.1-8B", tensor_parallel: 4, context_length: 8_192 });
    const norms = (2 * 32 + 1) * 4_096;
    expect(per_gpu.replicated_weights.bytes).toBe(2 * norms);
    expect(per_gpu.weights.bytes).toBe((2 * (8_030_261_248 - norms)) / 4 + 2 * norms);
    expect(per_gpu.kv_heads).toBe(2);
    expect(per_gpu.kv_cache.bytes).toBe((32 * 8_192 * 2 * 8 * 128 * 2) / 4);
    const perToken = 2 * 4_096 + (8 + 2 * 2) * 128 + (2 * 14_336) / 4;
    expect(per_gpu.activations.bytes).toBe(8_192 * perToken * 2 + 4 * 128_256);
    expect(per_gpu.communication.bytes).toBe(392 * MIB + 8_192 * 4_096 * 2);
  });

  it("copies key-value heads if there are fewer than GPUs: 8 heads on 16 GPUs", async () => {
    const eight = await estimate({ model: "Llama-3.1-70B", tensor_parallel: 8 });
    const sixteen = await estimate({ model: "Llama-3.1-70B", tensor_parallel: 16 });
    expect([eight.per_gpu.kv_heads, sixteen.per_gpu.kv_heads]).toEqual([1, 1]);
    expect(sixteen.per_gpu.kv_cache.bytes).toBe(eight.per_gpu.kv_cache.bytes);
    const half = eight.per_gpu.weights.bytes / 2;
    // 80 layers of two projections from 8192 to one head of 128, whole on each GPU.
    expect(sixteen.per_gpu.weights.bytes - half).toBeGreaterThan(80 * 8_192 * 128 * 2);
  });

  it("replicates latent vectors and the projections into them: DeepSeek-V3 on 8 GPUs", async () => {
    const whole = await estimate({ model: "DeepSeek-V3" });
    const { per_gpu } = await estimate({ model: "DeepSeek-V3", tensor_parallel: 8 });
    expect(per_gpu.kv_cache.bytes).toBe(whole.kv_cache.bytes);
    const latent = 61 * 7_168 * (1_536 + 512 + 64);
    const routers = 58 * 7_168 * 256;
    expect(per_gpu.replicated_weights.bytes).toBeGreaterThanOrEqual(2 * (latent + routers));
    expect(per_gpu.replicated_weights.bytes).toBeLessThan(2.01 * (latent + routers));
  });

  it("pads the vocabulary to a multiple of 64 before splitting it: granite, 49155", async () => {
    const { per_gpu, inputs } = await estimate({ model: "granite-3.1-8b", tensor_parallel: 2 });
    const padding = (49_216 - 49_155) * 4_096;
    const norms = (2 * 40 + 1) * 4_096;
    expect(per_gpu.weights.bytes).toBe(inputs.parameters - norms + padding + 2 * norms);
  });

  it("splits the state of hybrids: Qwen3-Next has 36 states of 32 by 128 by 128 in 32 bits", async () => {
    const short = await estimate({ model: "Qwen3-Next-80B-A3B", batch_size: 4, tensor_parallel: 2 });
    const long = await estimate({ model: "Qwen3-Next-80B-A3B", batch_size: 4, context_length: 131_072 });
    const state = 36 * (32 * 128 * 128 * 4 + (2 * 16 * 128 + 32 * 128) * 3 * 2);
    expect(short.recurrent_state.bytes).toBe(4 * state);
    expect(long.recurrent_state.bytes).toBe(4 * state);
    expect(short.per_gpu.recurrent_state.bytes).toBe(2 * state);
    expect(long.kv_cache.bytes).toBe(4 * 12 * 131_072 * 2 * 2 * 256 * 2);
  });

  it("counts 23 Mamba states of 64 by 64 by 128 and 6 layers of cache in Nemotron 3 Nano", async () => {
    const { recurrent_state, kv_cache_bytes_per_token } = await estimate({
      model: "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    });
    expect(recurrent_state.bytes).toBe(23 * (64 * 64 * 128 * 4 + (64 * 64 + 2 * 8 * 128) * 3 * 2));
    expect(kv_cache_bytes_per_token).toBe(6 * 2 * 2 * 128 * 2);
  });

  it("needs 10 + 24 / t units of activations per layer in training (arXiv 2205.05198, equation 2)", async () => {
    const gpt3 = {
      parameters_b: 175,
      num_layers: 96,
      hidden_size: 12_288,
      num_attention_heads: 96,
      vocab_size: 51_200,
    };
    const { per_gpu } = await estimate({
      ...gpt3,
      mode: "training",
      context_length: 2_048,
      tensor_parallel: 8,
    });
    const logits = (4 * 2_048 * 51_200) / 8;
    expect((per_gpu.activations.bytes - logits) / (96 * 2_048 * 12_288)).toBe(10 + 24 / 8);
    // 16 bytes of model states per parameter, divided by eight.
    const states = per_gpu.weights.bytes + per_gpu.gradients.bytes + per_gpu.optimizer_state.bytes;
    expect(states / (16 * 175e9)).toBeCloseTo(1 / 8, 3);
  });
});

describe("impossible numbers of GPUs", () => {
  it.each([
    [
      '{"model":"llama-2-7b","tensor_parallel":3}',
      "must divide the 32 attention heads; possible are 1, 2, 4, 8, 16, 32",
    ],
    [
      '{"model":"qwen2.5-14b","tensor_parallel":5}',
      "must divide the 8 key-value heads or be a multiple of them",
    ],
    [
      '{"model":"qwen2.5-7b","tensor_parallel":8}',
      "must divide the 28 attention heads; possible are 1, 2, 4, 28",
    ],
    ['{"model":"qwen3.5-27b","tensor_parallel":12}', "must divide the 16 heads of the recurrent layers"],
    ['{"parameters_b":7,"tensor_parallel":3}', "must be a power of two"],
    ['{"parameters_b":7,"tensor_parallel":64}', "must be a power of two, and at most the guessed number"],
    ['{"parameters_b":7,"tensor_parallel":0}', "must be at least 1"],
    ['{"parameters_b":7,"tensor_parallel":256}', "must be at most 128"],
    ['{"parameters_b":7,"tensor_parallel":"2"}', "must be a number, not a string"],
  ])("%s", (params, refusal) => {
    expect(refusalOf(tool, params)).toContain(`INVALID_REQUEST params.tensor_parallel: ${refusal}`);
  });
});

function largest(id: string): number {
  const architecture = findModel(id);
  if (!architecture) throw new Error(`no model is called ${id}`);
  return Math.max(...feasible({ architecture, headsGuessed: false }));
}
