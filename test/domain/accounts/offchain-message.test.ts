import { address, getOffchainMessageEncoder, OffchainMessageContentFormat } from "@solana/kit";
import { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { isTextSigned } from "../../../src/domain/accounts/sign-in.ts";

const wallet = Keypair.generate();
const [key, other] = [wallet.publicKey.toBytes(), Keypair.generate().publicKey.toBytes()];
const text = "gateway.example wants you to sign in with your Solana account:\nNonce: 1";
const signers = [{ address: address(wallet.publicKey.toBase58()) }];

/** Messages that conforming wallets sign, by version, as Solana's library writes them. */
const VERSION_0 = getOffchainMessageEncoder().encode({
  version: 0,
  applicationDomain: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin" as never,
  content: { format: OffchainMessageContentFormat.UTF8_1232_BYTES_MAX, text } as never,
  requiredSignatories: signers,
});
const VERSION_1 = getOffchainMessageEncoder().encode({
  version: 1,
  content: text,
  requiredSignatories: signers,
});
/** The first form of version 0, which older programs and hardware wallets write. */
const OLD = Buffer.concat([
  Buffer.from([0xff]),
  Buffer.from("solana offchain"),
  Buffer.from([0, 0, text.length & 0xff, text.length >> 8]),
  Buffer.from(text),
]);

const flipped = (bytes: ArrayLike<number>, at: number): Buffer => {
  const copy = Buffer.from(Array.from(bytes));
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
};

describe("an off-chain message", () => {
  it.each([
    ["the text as it is", Buffer.from(text)],
    ["the text in an off-chain message of version 0", Buffer.from(VERSION_0)],
    ["the text in an off-chain message of version 1", Buffer.from(VERSION_1)],
    ["the text in an off-chain message of the first form", OLD],
  ])("has the expected bytes for %s", (_name, signed) => {
    expect(isTextSigned(signed, text, key)).toBe(true);
    expect(isTextSigned(signed, `${text}0`, key)).toBe(false);
    expect(isTextSigned(Buffer.concat([signed, Buffer.from("\n")]), text, key)).toBe(false);
  });

  it("rejects the signature of another signer", () => {
    expect(isTextSigned(VERSION_0 as Uint8Array, text, other)).toBe(false);
    expect(isTextSigned(VERSION_1 as Uint8Array, text, other)).toBe(false);
  });

  it("rejects a header with any byte changed, except the domain chosen by the wallet", () => {
    const accepted = (bytes: ArrayLike<number>, until: number) =>
      Array.from({ length: until }, (_, at) => at).filter((at) =>
        isTextSigned(flipped(bytes, at), text, key),
      );
    // 16 bytes of the signing domain, the version, 32 of the wallet's, and a format that may be one of two.
    expect(accepted(VERSION_0, VERSION_0.length)).toEqual(Array.from({ length: 33 }, (_, n) => 17 + n));
    expect(accepted(VERSION_1, VERSION_1.length)).toEqual([]);
    expect(accepted(OLD, OLD.length)).toEqual([17]);
  });
});
