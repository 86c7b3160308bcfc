import { describe, expect, it } from "vitest";
import { estimate, gpuOf } from "./estimate.ts";

describe("the GPUs that a model needs", () => {
  it("are a number that can share it: Qwen2.5 14B, 40 heads of which 8 for keys, never on 3 or 5", async () => {
    const { gpus } = await estimate({ model: "Qwen2.5-14B" });
    for (const { tensor_parallel } of gpus) expect([1, 2, 4, 8, 40]).toContain(tensor_parallel);
  });

  it("hold their shares, and one possible number fewer does not", async () => {
    const params = { model: "Meta-Llama-3-70B", context_length: 8_192 };
    const { needed, tensor_parallel, memory_gib } = gpuOf(await estimate(params), "NVIDIA L40S 48GB");
    expect([needed, tensor_parallel]).toEqual([4, 4]);
    const on = async (gpus: number) => (await estimate({ ...params, tensor_parallel: gpus })).per_gpu.total.gib;
    expect(await on(4)).toBeLessThanOrEqual(memory_gib);
    expect(await on(2)).toBeGreaterThan(memory_gib);
  });

  it("go one after the other where heads cannot be shared any further: Llama 3.1 405B on cards of 16 GB", async () => {
    const t4 = gpuOf(await estimate({ model: "Llama-3.1-405B" }), "NVIDIA T4 16GB");
    expect(t4.needed).toBe(t4.tensor_parallel * t4.pipeline_parallel);
    expect(gpuOf(await estimate({ model: "Falcon3-10B-Base" }), "NVIDIA GeForce RTX 3080 10GB").fits).toBe(false);
  });

  it("fit when the given number of them does", async () => {
    const two = await estimate({ model: "Meta-Llama-3-70B", tensor_parallel: 2 });
    expect(gpuOf(two, "NVIDIA H100 80GB")).toMatchObject({ fits: true, needed: 2, pipeline_parallel: 1 });
    expect(gpuOf(two, "NVIDIA L4 24GB")).toMatchObject({ fits: false, tensor_parallel: 2 });
    expect(gpuOf(two, "NVIDIA L4 24GB").needed).toBeGreaterThan(2);
  });
});
