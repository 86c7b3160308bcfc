import { describe, expect, it } from "vitest";
import { pricesSchema } from "../../src/tools/index.ts";

describe("prices section of the configuration", () => {
  it("has defaults for all settings", () => {
    const defaults = {
      vram_estimate: { flat_microusd: 1_000n },
      sandbox_execute: { charge: "used", microusd_per_second: 100n, minimum_microusd: 1_000n },
      inference_chat: { charge: "used" },
      inference_embed: { charge: "used" },
    };
    expect(pricesSchema.parse(undefined)).toEqual(defaults);
    expect(pricesSchema.parse({})).toEqual(defaults);
    expect(pricesSchema.parse({ vram_estimate: {} })).toEqual(defaults);
  });

  it("accepts whole micro-USD", () => {
    expect(
      pricesSchema.parse({ vram_estimate: { flat_microusd: 2_500 } })["vram_estimate"]?.["flat_microusd"],
    ).toBe(2_500n);
  });

  it.each([
    [{ vram_estimate: { flat_microusd: 0.5 } }, "vram_estimate.flat_microusd"],
    [{ vram_estimate: { flat_microusd: 0 } }, "vram_estimate.flat_microusd"],
    [{ vram_estimate: { flat_microusd: "1000" } }, "vram_estimate.flat_microusd"],
    [{ vram_estimate: { flat_microusd: 2 ** 53 } }, "vram_estimate.flat_microusd"],
    [{ vram_estimate: { flat: 1 } }, "vram_estimate"],
    [{ inference_chat: { charge: "guessed" } }, "inference_chat.charge"],
    [{ vram_estimate: { charge: "quoted" } }, "vram_estimate"],
    [{ echo: { flat_microusd: 1 } }, ""],
    [{ sandbox_execute: { microusd_per_second: -1 } }, "sandbox_execute.microusd_per_second"],
  ])("rejects %j at %s", (prices, path) => {
    const { error } = pricesSchema.safeParse(prices);
    expect(error?.issues[0]?.path.join(".")).toBe(path);
  });
});
