import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Keypair, PublicKey, VersionedTransaction } from "@solana/web3.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAddress, isOnCurve, tokenAccountOf } from "../../src/client/address.ts";
import { fromBase58, toBase58 } from "../../src/client/base58.ts";
import { keypairSigner, walletSigner, type Signer } from "../../src/client/index.ts";
import { signWith } from "../../src/client/signer.ts";
import {
  buildPayment,
  decodeTransaction,
  encodeTransaction,
  readMessage,
} from "../../src/client/transaction.ts";

/** The client's own encoding against web3.js. */

const MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const address = () => Keypair.generate().publicKey.toBase58();

function order(payer: string, feePayer: string) {
  return {
    payer,
    feePayer,
    payTo: tokenAccountOf(address(), MINT),
    mint: MINT,
    amount: 1_234_567n,
    memo: `svc:qt_${"a".repeat(140)}`,
    blockhash: address(),
    computeUnitPrice: 10_000n,
  };
}

describe("the client's transactions", () => {
  it("have addresses and token accounts that web3.js has", () => {
    const property = fc.property(bytes(32), (key) => {
      const theirs = new PublicKey(key);
      expect(toBase58(key)).toBe(theirs.toBase58());
      expect(fromBase58(theirs.toBase58())).toEqual(Uint8Array.from(key));
      expect(isOnCurve(key)).toBe(PublicKey.isOnCurve(key));
      const account = getAssociatedTokenAddressSync(new PublicKey(MINT), theirs, true);
      expect(tokenAccountOf(theirs.toBase58(), MINT)).toBe(account.toBase58());
    });
    fc.assert(property, { numRuns: 60, examples: [[new Uint8Array(32)], [new Uint8Array(32).fill(255)]] });
    for (const text of ["", "1", `${MINT}1`, MINT.slice(3), MINT.replace("E", "0"), "1".repeat(500)])
      expect(isAddress(text), text).toBe(false);
  });

  it.each(["transfer", "gasless"])("are read and verified by web3.js (%s)", async (method) => {
    const wallet = Keypair.generate();
    const payer = wallet.publicKey.toBase58();
    const terms = order(payer, method === "gasless" ? address() : payer);
    const unsigned = buildPayment(terms);
    const adapter = {
      publicKey: wallet.publicKey,
      signTransaction: async (transaction: VersionedTransaction) => {
        transaction.sign([wallet]);
        return Promise.resolve(transaction);
      },
    };
    const signers: Signer[] = [keypairSigner(wallet), walletSigner(adapter, VersionedTransaction)];
    const [own, theirs] = await Promise.all(
      signers.map(async (signer) => encodeTransaction(await signWith(signer, unsigned, unsigned.slot))),
    );
    expect(own).toEqual(theirs);
    const read = VersionedTransaction.deserialize(own ?? new Uint8Array());
    expect(Uint8Array.from(read.serialize())).toEqual(own);
    const { message } = read;
    expect(message.header).toEqual({
      numRequiredSignatures: read.signatures.length,
      numReadonlySignedAccounts: read.signatures.length - 1,
      numReadonlyUnsignedAccounts: 4,
    });
    expect(message.recentBlockhash).toBe(terms.blockhash);
    expect(readMessage(Uint8Array.from(message.serialize()))).toEqual({
      blockhash: terms.blockhash,
      data: message.compiledInstructions.map(({ data }) => Uint8Array.from(data)),
    });
  });

  it("are refused when they are cut or have another version", () => {
    const { message } = buildPayment(order(address(), address()));
    expect(() => readMessage(message.subarray(0, -20))).toThrow(/ends too early/);
    expect(() => readMessage(Uint8Array.of(0x81, ...message))).toThrow(/unknown version/);
    expect(() => decodeTransaction(Uint8Array.of(200, 200, 200))).toThrow(/length/);
    expect(() => decodeTransaction(Uint8Array.of(2, 1))).toThrow(/ends too early/);
    expect(() => buildPayment({ ...order(address(), address()), amount: 1n << 64n })).toThrow(RangeError);
  });

  it("need a secret key that belongs to its public key", () => {
    const { secretKey } = Keypair.generate();
    const mixed = Uint8Array.from([...secretKey.subarray(0, 32), ...Keypair.generate().publicKey.toBytes()]);
    for (const key of [mixed, secretKey.subarray(0, 32), new Uint8Array(0)])
      expect(() => keypairSigner(key)).toThrow(/64 bytes of an Ed25519 key pair/);
  });
});
