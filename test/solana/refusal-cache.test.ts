import { describe, expect, it } from "vitest";
import { notTheFirstSignature } from "../../src/solana/refusal.ts";
import { RefusalCache } from "../../src/solana/refusal-cache.ts";

describe("the refusal cache", () => {
  it("holds ten thousand and forgets the one that was not asked for the longest", () => {
    const cache = new RefusalCache();
    const refusal = notTheFirstSignature();
    for (let n = 0; n < 10_000; n++) cache.set(`tx${n}`, refusal);
    expect(cache.get("tx0")).toBe(refusal);
    cache.set("one more", refusal);
    const held = ["tx0", "tx1", "tx2", "one more"].map((tx) => cache.get(tx) !== undefined);
    expect(held).toEqual([true, false, true, true]);
  });
});
