import { describe, expect, it } from "vitest";
import { estimate, gpuOf } from "./estimate.ts";
import { GPUS, placementOn } from "../../../src/tools/vram-estimate/gpus.ts";

const MIB = 1_048_576n;
const gpu = { name: "1000 MiB", memoryMib: 1_000 };
const share = (tensorParallel: number, total: bigint) => ({ tensorParallel, total, fixed: 100n * MIB });

describe("number of GPUs of 1000 MiB with 100 MiB overhead each", () => {
  it.each([
    [1_000n, 1],
    [999n, 1],
    [1_001n, 2],
    // Each GPU has 900 MiB beside its fixed 100: 100 + 2 * 900
    [1_900n, 2],
    [1_901n, 3],
  ])("for %d MiB that layers cannot share is %d, in sequence", (total, needed) => {
    expect(placementOn(gpu, [share(1, total * MIB)])).toEqual({
      needed,
      tensorParallel: 1,
      pipelineParallel: needed,
    });
  });

  it("is the first share that fits", () => {
    const shares = [share(1, 1_900n * MIB), share(2, 1_000n * MIB), share(4, 550n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 2, tensorParallel: 2, pipelineParallel: 1 });
  });

  it("grows with a single byte too many", () => {
    const shares = [share(1, 1_900n * MIB), share(2, 1_000n * MIB + 1n), share(4, 550n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 4, tensorParallel: 4, pipelineParallel: 1 });
  });

  it("is a multiple of the last share if none fits", () => {
    const shares = [share(1, 7_300n * MIB), share(4, 1_900n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 8, tensorParallel: 4, pipelineParallel: 2 });
  });
});

describe("table of GPUs", () => {
  it("has at least 30 GPUs, sorted by memory, without duplicates", () => {
    const sizes = GPUS.map(({ memoryMib }) => memoryMib);
    expect(sizes.length).toBeGreaterThanOrEqual(30);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(new Set(GPUS.map(({ name }) => name)).size).toBe(GPUS.length);
  });

  it("has the memory the driver reports, within 10 % of the name's", () => {
    for (const { name, memoryMib } of GPUS) {
      const named = Number(/(\d+)GB$/.exec(name)?.[1]);
      expect(memoryMib / 1_024 / named).toBeGreaterThan(0.9);
      expect(memoryMib / 1_024 / named).toBeLessThanOrEqual(1);
    }
  });
});

describe("GPUs a model needs", () => {
  it("are a number that can share it: Qwen2.5 14B, 40 heads of which 8 for keys, never on 3 or 5", async () => {
    const { gpus } = await estimate({ model: "Qwen2.5-14B" });
    for (const { tensor_parallel } of gpus) expect([1, 2, 4, 8, 40]).toContain(tensor_parallel);
  });

  it("hold their shares, and one possible number fewer does not", async () => {
    const params = { model: "Meta-Llama-3-70B", context_length: 8_192 };
    const { needed, tensor_parallel, memory_gib } = gpuOf(await estimate(params), "NVIDIA L40S 48GB");
    expect([needed, tensor_parallel]).toEqual([4, 4]);
    const on = async (gpus: number) =>
      (await estimate({ ...params, tensor_parallel: gpus })).per_gpu.total.gib;
    expect(await on(4)).toBeLessThanOrEqual(memory_gib);
    expect(await on(2)).toBeGreaterThan(memory_gib);
  });

  it("are used in sequence if heads cannot be shared further: Llama 3.1 405B on cards of 16 GB", async () => {
    const t4 = gpuOf(await estimate({ model: "Llama-3.1-405B" }), "NVIDIA T4 16GB");
    expect(t4.needed).toBe(t4.tensor_parallel * t4.pipeline_parallel);
    expect(gpuOf(await estimate({ model: "Falcon3-10B-Base" }), "NVIDIA GeForce RTX 3080 10GB").fits).toBe(
      false,
    );
  });

  it("fit when the given number of them does", async () => {
    const two = await estimate({ model: "Meta-Llama-3-70B", tensor_parallel: 2 });
    expect(gpuOf(two, "NVIDIA H100 80GB")).toMatchObject({ fits: true, needed: 2, pipeline_parallel: 1 });
    expect(gpuOf(two, "NVIDIA L4 24GB")).toMatchObject({ fits: false, tensor_parallel: 2 });
    expect(gpuOf(two, "NVIDIA L4 24GB").needed).toBeGreaterThan(2);
  });
});
