import { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { isCanonicalKey, isSignedBy } from "../../../src/domain/core/ed25519.ts";
import { signed } from "../../support/console.ts";

const message = Buffer.from("a message");

/** The points of small order, in every form: under such a key one signature could hold for many messages. */
const SMALL_ORDER = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map((hex) => Buffer.from(hex, "hex"));

describe("ed25519 verification", () => {
  it("accepts a signature only for its key and message", () => {
    const wallet = Keypair.generate();
    const signature = signed(wallet, message);
    expect(isSignedBy(wallet.publicKey.toBytes(), message, signature)).toBe(true);
    expect(isSignedBy(wallet.publicKey.toBytes(), Buffer.from("another"), signature)).toBe(false);
    expect(isSignedBy(Keypair.generate().publicKey.toBytes(), message, signature)).toBe(false);
  });

  it("rejects keys of small order, which need no secret", () => {
    const accepted = SMALL_ORDER.flatMap((key) =>
      SMALL_ORDER.flatMap((r) =>
        // One message in eight would do for a verifier that takes such keys.
        Array.from({ length: 8 }, (_, n) =>
          isSignedBy(key, Buffer.from(`m${n}`), Buffer.concat([r, Buffer.alloc(32)])),
        ),
      ),
    );
    expect(accepted).not.toContain(true);
  });

  it("rejects non-canonical encodings of a key", () => {
    const keys = (low: number, high: number) =>
      [0x7f, 0xff].map((last) => Buffer.from([low, ...Array(30).fill(high), last]));
    // The prime is 0xed, thirty bytes of 0xff and 0x7f; the sign of x stands above it.
    expect([0xed, 0xee, 0xf4, 0xff].flatMap((low) => keys(low, 0xff)).map(isCanonicalKey)).toEqual(
      Array(8).fill(false),
    );
    expect([...keys(0xec, 0xff), ...keys(0xff, 0xfe)].map(isCanonicalKey)).toEqual(Array(4).fill(true));
    expect(isCanonicalKey(Keypair.generate().publicKey.toBytes())).toBe(true);
  });

  it("rejects a signature whose S is not reduced", () => {
    const wallet = Keypair.generate();
    const signature = signed(wallet, message);
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + order;
    const unreduced = Buffer.from(s.toString(16).padStart(64, "0"), "hex").reverse();
    expect(
      isSignedBy(wallet.publicKey.toBytes(), message, Buffer.concat([signature.subarray(0, 32), unreduced])),
    ).toBe(false);
  });
});
