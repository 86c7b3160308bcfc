import { describe, expect, it } from "vitest";
import { claimDigest, type Claim } from "../../../src/app/calls/run-and-capture.ts";
import { fingerprint } from "../../../src/domain/calls/call-context.ts";

const CLAIM: Claim = {
  accountId: "acct_1",
  idempotencyKey: "order-4711",
  payment: undefined,
  fingerprint: fingerprint("t", { a: 1 }),
};

const payment = { network: "solana-mainnet", reference: "5sig" };

describe("claimDigest", () => {
  it("returns one digest for all runs of a claim, without the caller's key in it", () => {
    const digest = claimDigest(CLAIM);
    expect(digest).toMatch(/^[\w-]{43}$/);
    expect(claimDigest({ ...CLAIM, payment }), "its key stands for a call that has one").toBe(digest);
    expect(digest).not.toContain("4711");
  });

  it("returns different digests for different claims", () => {
    const claims: Claim[] = [
      CLAIM,
      { ...CLAIM, accountId: "acct_2" },
      { ...CLAIM, idempotencyKey: "order-4712" },
      { ...CLAIM, idempotencyKey: "pay:solana-mainnet:5sig" },
      { ...CLAIM, fingerprint: fingerprint("t", { a: 2 }) },
      { ...CLAIM, idempotencyKey: undefined, payment },
      { ...CLAIM, idempotencyKey: undefined, payment: { ...payment, reference: "6sig" } },
      { ...CLAIM, idempotencyKey: undefined, payment: { ...payment, network: "other" } },
    ];
    expect(new Set(claims.map(claimDigest)).size).toBe(claims.length);
  });

  it("returns undefined for a call that claims nothing", () => {
    expect(claimDigest({ ...CLAIM, idempotencyKey: undefined })).toBeUndefined();
  });
});
