import { describe, expect, it } from "vitest";
import { notTheFirstSignature } from "../../../src/solana/transactions/refusal.ts";
import { RefusalCache } from "../../../src/solana/payments/chain.ts";

const refusal = notTheFirstSignature();

describe("RefusalCache", () => {
  it("holds ten thousand refusals and evicts the oldest", () => {
    const cache = new RefusalCache({ now: () => 0 });
    for (let n = 0; n < 10_001; n++) cache.set(`tx${n}`, refusal);
    expect(["tx0", "tx1", "tx10000"].map((tx) => cache.get(tx) !== undefined)).toEqual([false, true, true]);
  });

  it("keeps a refusal for half a minute, because a failed transaction can be forked away and succeed", () => {
    let now = 1_000;
    const cache = new RefusalCache({ now: () => now });
    cache.set("tx", refusal);
    now += 29_999;
    expect(cache.get("tx")).toBe(refusal);
    now += 1;
    expect(cache.get("tx")).toBeUndefined();
  });
});
