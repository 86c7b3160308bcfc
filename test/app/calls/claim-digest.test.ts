import { describe, expect, it } from "vitest";
import { claimDigest, type Claim } from "../../../src/app/calls/claim-digest.ts";
import { fingerprint } from "../../../src/domain/calls/fingerprint.ts";

const CLAIM: Claim = {
  accountId: "acct_1",
  idempotencyKey: "order-4711",
  txSignature: undefined,
  fingerprint: fingerprint("t", { a: 1 }),
};

describe("claimDigest", () => {
  it("returns one digest for all runs of a claim, without the caller's key in it", () => {
    const digest = claimDigest(CLAIM);
    expect(digest).toMatch(/^[\w-]{43}$/);
    expect(claimDigest({ ...CLAIM, txSignature: "5sig" }), "its key stands for a call that has one").toBe(
      digest,
    );
    expect(digest).not.toContain("4711");
  });

  it("returns different digests for different claims", () => {
    const claims: Claim[] = [
      CLAIM,
      { ...CLAIM, accountId: "acct_2" },
      { ...CLAIM, idempotencyKey: "order-4712" },
      { ...CLAIM, idempotencyKey: "pay:5sig" },
      { ...CLAIM, fingerprint: fingerprint("t", { a: 2 }) },
      { ...CLAIM, idempotencyKey: undefined, txSignature: "5sig" },
      { ...CLAIM, idempotencyKey: undefined, txSignature: "6sig" },
    ];
    expect(new Set(claims.map(claimDigest)).size).toBe(claims.length);
  });

  it("returns undefined for a call that claims nothing", () => {
    expect(claimDigest({ ...CLAIM, idempotencyKey: undefined })).toBeUndefined();
  });
});
