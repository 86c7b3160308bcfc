import { createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { RecordSeal } from "../../../src/domain/payments/record-seal.ts";
import { systemRandom } from "../../../src/system.ts";

const [HEADER, NONCE, RECORD, TAG] = [3, 12, 66, 16];
const secret = randomBytes(32);
const seal = new RecordSeal(secret, HEADER, RECORD);
const header = Buffer.from([3, 0, 7]);

function sealed(record: Buffer): Buffer {
  const all = Buffer.concat([header, Buffer.alloc(NONCE), record, Buffer.alloc(TAG)]);
  seal.seal(all, systemRandom);
  return all;
}

function keyOf(purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", `toolgate quote ${purpose}`, 32));
}

describe("a sealed record", () => {
  it("is AES-256-CTR and HMAC-SHA-256 of node:crypto", () => {
    for (let round = 0; round < 140; round++) {
      const record = randomBytes(RECORD);
      const all = sealed(record);
      const [nonce, text] = [all.subarray(HEADER, HEADER + NONCE), all.subarray(HEADER + NONCE, -TAG)];
      const counter = Buffer.concat([nonce, Buffer.alloc(4)]);
      expect(createDecipheriv("aes-256-ctr", keyOf("encryption"), counter).update(text)).toEqual(record);
      const tag = createHmac("sha256", keyOf("authentication")).update(all.subarray(0, -TAG)).digest();
      expect(all.subarray(-TAG)).toEqual(tag.subarray(0, TAG));
      expect(seal.open(all)).toEqual(record);
    }
  });

  it("has its own nonce and key stream", () => {
    const all = Array.from({ length: 200 }, () => sealed(Buffer.alloc(RECORD)));
    expect(new Set(all.map((one) => one.toString("hex", HEADER, HEADER + NONCE))).size).toBe(all.length);
    expect(new Set(all.map((one) => one.toString("hex", HEADER + NONCE, HEADER + NONCE + 16))).size).toBe(
      all.length,
    );
  });

  it("does not open with any bit changed or any byte missing", () => {
    const all = sealed(randomBytes(RECORD));
    for (let bit = 0; bit < all.length * 8; bit++) {
      const changed = Buffer.from(all);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(seal.open(changed)).toBeUndefined();
    }
    for (let length = 0; length < all.length; length++)
      expect(seal.open(all.subarray(0, length))).toBeUndefined();
  });
});
