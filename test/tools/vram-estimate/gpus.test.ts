import { describe, expect, it } from "vitest";
import { gpusNeeded, GPUS } from "../../../src/tools/vram-estimate/gpus.ts";

const MIB = 1_048_576n;
const gpu = { name: "1000 MiB", memoryMib: 1_000 };

describe("the number of GPUs", () => {
  it.each([
    [1_000n, 1],
    [999n, 1],
    [1_001n, 2],
    // Each GPU has 900 MiB beside its fixed 100: 100 + 2 * 900
    [1_900n, 2],
    [1_901n, 3],
  ])("for %d MiB on GPUs of 1000 MiB, of which every one spends 100, is %d", (total, needed) => {
    expect(gpusNeeded(gpu, total * MIB, 100n * MIB)).toBe(needed);
  });

  it("grows with a single byte too many", () => {
    expect(gpusNeeded(gpu, 1_000n * MIB + 1n, 100n * MIB)).toBe(2);
  });
});

describe("the table of GPUs", () => {
  it("goes from small to large, each name once", () => {
    const sizes = GPUS.map(({ memoryMib }) => memoryMib);
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
