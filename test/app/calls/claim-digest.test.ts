import { describe, expect, it } from "vitest";
import { claimDigest, type Claim } from "../../../src/app/calls/claim-digest.ts";
import { fingerprint } from "../../../src/domain/calls/fingerprint.ts";

const CLAIM: Claim = {
  accountId: "acct_1",
  idempotencyKey: "order-4711",
  txSignature: undefined,
  fingerprint: fingerprint("t", { a: 1 }),
};

describe("what servers behind tools know a claim by", () => {
  it("is the same for each run of the claim, and holds nothing of the caller's key", () => {
    const digest = claimDigest(CLAIM);
    expect(digest).toMatch(/^[\w-]{43}$/);
    expect(claimDigest({ ...CLAIM, txSignature: "5sig" }), "its key stands for a call that has one").toBe(
      digest,
    );
    expect(digest).not.toContain("4711");
  });

  it("is shared by no two claims", () => {
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

  it("is nothing for a call that claims nothing", () => {
    expect(claimDigest({ ...CLAIM, idempotencyKey: undefined })).toBeUndefined();
  });
});
