import { describe, expect, it } from "vitest";
import { GPUS } from "../../../src/tools/vram-estimate/gpu-table.ts";
import { placementOn } from "../../../src/tools/vram-estimate/gpus.ts";

const MIB = 1_048_576n;
const gpu = { name: "1000 MiB", memoryMib: 1_000 };
const share = (tensorParallel: number, total: bigint) => ({ tensorParallel, total, fixed: 100n * MIB });

describe("the number of GPUs of 1000 MiB, of which every one spends 100", () => {
  it.each([
    [1_000n, 1],
    [999n, 1],
    [1_001n, 2],
    // Each GPU has 900 MiB beside its fixed 100: 100 + 2 * 900
    [1_900n, 2],
    [1_901n, 3],
  ])("for %d MiB that cannot be shared within a layer is %d, one after the other", (total, needed) => {
    expect(placementOn(gpu, [share(1, total * MIB)])).toEqual({ needed, tensorParallel: 1, pipelineParallel: needed });
  });

  it("is that of the first share that fits", () => {
    const shares = [share(1, 1_900n * MIB), share(2, 1_000n * MIB), share(4, 550n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 2, tensorParallel: 2, pipelineParallel: 1 });
  });

  it("grows with a single byte too many", () => {
    const shares = [share(1, 1_900n * MIB), share(2, 1_000n * MIB + 1n), share(4, 550n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 4, tensorParallel: 4, pipelineParallel: 1 });
  });

  it("is a multiple of the last share where none fits", () => {
    const shares = [share(1, 7_300n * MIB), share(4, 1_900n * MIB)] as const;
    expect(placementOn(gpu, shares)).toEqual({ needed: 8, tensorParallel: 4, pipelineParallel: 2 });
  });
});

describe("the table of GPUs", () => {
  it("has at least 30, from small to large, each name once", () => {
    const sizes = GPUS.map(({ memoryMib }) => memoryMib);
    expect(sizes.length).toBeGreaterThanOrEqual(30);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(new Set(GPUS.map(({ name }) => name)).size).toBe(GPUS.length);
  });

  it("has what the driver reports, which is within 10 % of what the name says", () => {
    for (const { name, memoryMib } of GPUS) {
      const named = Number(/(\d+)GB$/.exec(name)?.[1]);
      expect(memoryMib / 1_024 / named).toBeGreaterThan(0.9);
      expect(memoryMib / 1_024 / named).toBeLessThanOrEqual(1);
    }
  });
});
