import { generateKeyPairSync, sign } from "node:crypto";
import { PublicKey, TransactionInstruction, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { addSignature } from "../../src/console/wallet/wire-transaction.ts";

function signer() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  return {
    address: new PublicKey(raw),
    bytes: new Uint8Array(raw),
    sign: async (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey)),
  };
}

const MEMO = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/** Builds a transaction with these signers; the first one pays. */
function transactionOf(
  signers: readonly ReturnType<typeof signer>[],
  form: "legacy" | "v0",
): VersionedTransaction {
  const keys = signers.map(({ address }) => ({ pubkey: address, isSigner: true, isWritable: false }));
  const message = new TransactionMessage({
    payerKey: signers[0]!.address,
    recentBlockhash: PublicKey.default.toBase58(),
    instructions: [new TransactionInstruction({ programId: MEMO, keys, data: Buffer.from("hello") })],
  });
  return new VersionedTransaction(
    form === "v0" ? message.compileToV0Message() : message.compileToLegacyMessage(),
  );
}

describe.each(["legacy", "v0"] as const)("addSignature to a %s transaction", (form) => {
  it("fills the signature slot of the signer and keeps the others", async () => {
    const [payer, other] = [signer(), signer()];
    const unsigned = transactionOf([payer, other], form);
    let wire: Uint8Array = unsigned.serialize();
    for (const { bytes, sign } of [other, payer]) wire = await addSignature(wire, bytes, sign);
    const signed = VersionedTransaction.deserialize(wire);
    const message = unsigned.message.serialize();
    expect(Buffer.from(signed.message.serialize())).toEqual(Buffer.from(message));
    expect(signed.message.staticAccountKeys[0]!.equals(payer.address)).toBe(true);
    expect(signed.signatures.map((one) => Buffer.from(one).toString("hex"))).toEqual(
      [await payer.sign(message), await other.sign(message)].map((one) => Buffer.from(one).toString("hex")),
    );
  });

  it("throws when the address is not a signer", async () => {
    const [payer, other] = [signer(), signer()];
    const wire = transactionOf([payer], form).serialize();
    await expect(addSignature(wire, other.bytes, other.sign)).rejects.toThrow("not a signer");
  });
});
