import {
  AddressLookupTableAccount,
  ComputeBudgetProgram,
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SignInChallenge } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { signed, textOf } from "../support/console.ts";
import { startWorld, type World } from "../support/world.ts";
import { newChallenge, errorOf, anonymousClient } from "./anonymous-client.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ TRUSTED_PROXY_HOPS: "1" });
});
afterAll(() => world.close());

const MEMO = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const MEMO_V1 = new PublicKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
const LIGHTHOUSE = new PublicKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
const BLOCKHASH = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";

const [person, other] = [Keypair.generate(), Keypair.generate()];
const address = person.publicKey.toBase58();

const memo = (text: string, programId = MEMO, signer?: PublicKey) =>
  new TransactionInstruction({
    programId,
    keys: signer ? [{ pubkey: signer, isSigner: true, isWritable: false }] : [],
    data: Buffer.from(text),
  });
/** Adds an account that does not sign. */
function naming(instruction: TransactionInstruction, pubkey: PublicKey): TransactionInstruction {
  instruction.keys.push({ pubkey, isSigner: false, isWritable: false });
  return instruction;
}
/** A Lighthouse assertion, which wallets add, with a required signer. */
const asserted = (signer: PublicKey) =>
  new TransactionInstruction({
    programId: LIGHTHOUSE,
    keys: [{ pubkey: signer, isSigner: true, isWritable: false }],
    data: Buffer.from([9, 0]),
  });
const transfer = () =>
  SystemProgram.transfer({ fromPubkey: person.publicKey, toPubkey: other.publicKey, lamports: 1 });

/** Builds and signs a transaction. */
function signedBy(payer: Keypair, instructions: TransactionInstruction[], ...signers: Keypair[]): Uint8Array {
  const message = new TransactionMessage({
    payerKey: payer.publicKey,
    recentBlockhash: BLOCKHASH,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([payer, ...signers]);
  return transaction.serialize();
}

/** Signs in with a transaction and returns the error. */
async function signInError(make: (text: string, challenge: SignInChallenge) => Uint8Array): Promise<string> {
  const challenge = await newChallenge(world.gateway);
  const transaction = make(textOf(challenge, address), challenge);
  const proof = { case: "transaction" as const, value: transaction };
  return errorOf(anonymousClient(world.gateway).signIn({ nonce: challenge.nonce, address, proof }));
}

/** Returns the transaction that the gateway builds for a challenge. */
async function buildTransaction(challenge: SignInChallenge): Promise<VersionedTransaction> {
  const { transaction } = await anonymousClient(world.gateway).buildSignInTransaction({
    nonce: challenge.nonce,
    address,
  });
  return VersionedTransaction.deserialize(transaction);
}

describe("sign-in by transaction", () => {
  it("accepts the transaction built for the challenge, once", async () => {
    const challenge = await newChallenge(world.gateway);
    const transaction = await buildTransaction(challenge);
    transaction.sign([person]);
    const proof = { case: "transaction" as const, value: transaction.serialize() };
    const request = { nonce: challenge.nonce, address, proof };
    const { session } = await anonymousClient(world.gateway).signIn(request);
    expect(session?.wallet).toBe(address);
    expect(await errorOf(anonymousClient(world.gateway).signIn(request))).toMatch(/^Unauthenticated: nonce:/);
  });

  it("builds a transaction that the network rejects", async () => {
    const { wallet } = await world.agent();
    const challenge = await newChallenge(world.gateway);
    const request = { nonce: challenge.nonce, address: wallet.publicKey.toBase58() };
    const { transaction: bytes } = await anonymousClient(world.gateway).buildSignInTransaction(request);
    const transaction = VersionedTransaction.deserialize(bytes);
    transaction.sign([wallet]);
    const connection = new Connection(world.chain.url, "confirmed");
    await expect(connection.sendRawTransaction(transaction.serialize())).rejects.toThrow(/blockhash/i);
    // Control: with a valid blockhash it would succeed.
    const { value } = await connection.simulateTransaction(transaction, { replaceRecentBlockhash: true });
    expect(value.err).toBeNull();
  });

  it("accepts additions by wallets: compute budgets, assertions, another blockhash, a memo signer", async () => {
    const error = await signInError((text) =>
      signedBy(person, [
        ComputeBudgetProgram.setComputeUnitLimit({ units: 10_000 }),
        ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1 }),
        memo(text, MEMO, person.publicKey),
        new TransactionInstruction({ programId: LIGHTHOUSE, keys: [], data: Buffer.from([9, 0]) }),
      ]),
    );
    expect(error).toBe("no error");
  });

  it.each<[string, (text: string, challenge: SignInChallenge) => Uint8Array]>([
    [
      "unsigned",
      (text) => signedBy(person, [memo(text)]).map((byte, at) => (at >= 1 && at <= 64 ? 0 : byte)),
    ],
    ["signed by another", (text) => signedBy(other, [memo(text)])],
    ["signed by another beside", (text) => signedBy(person, [memo(text), asserted(other.publicKey)], other)],
    ["signed by another too", (text) => signedBy(person, [memo(text, MEMO, other.publicKey)], other)],
    ["paid for by another", (text) => signedBy(other, [memo(text, MEMO, person.publicKey)], person)],
    [
      "of another, with the address's signature in its place",
      (text) => {
        const bytes = signedBy(other, [memo(text)]);
        return Buffer.concat([bytes.subarray(0, 1), signed(person, bytes.subarray(65)), bytes.subarray(65)]);
      },
    ],
    [
      "in a longer form than it needs",
      (text) => Buffer.concat([Buffer.from([0x81, 0]), signedBy(person, [memo(text)]).subarray(1)]),
    ],
    [
      "changed after it was signed",
      (text) => signedBy(person, [memo(text)]).map((b, at) => (at === 100 ? b ^ 1 : b)),
    ],
    ["with a second memo", (text) => signedBy(person, [memo(text), memo("svc:another")])],
    ["with the memo twice", (text) => signedBy(person, [memo(text), memo(text)])],
    ["without a memo", () => signedBy(person, [ComputeBudgetProgram.setComputeUnitLimit({ units: 1 })])],
    ["with the memo of another program", (text) => signedBy(person, [memo(text, MEMO_V1)])],
    ["whose memo names another", (text) => signedBy(person, [naming(memo(text), other.publicKey)])],
    ["with a transfer", (text) => signedBy(person, [memo(text), transfer()])],
    ["with another text", (text) => signedBy(person, [memo(`${text} `)])],
    [
      "with a text that names another",
      (_text, it) => signedBy(person, [memo(textOf(it, other.publicKey.toBase58()))]),
    ],
    ["with something behind it", (text) => Buffer.concat([signedBy(person, [memo(text)]), Buffer.from([0])])],
    ["that is none", () => Buffer.from("no transaction")],
    [
      "that takes accounts from a table",
      (text) => {
        const state = { addresses: [other.publicKey], deactivationSlot: 2n ** 64n - 1n };
        const table = new AddressLookupTableAccount({
          key: Keypair.generate().publicKey,
          state: { ...state, lastExtendedSlot: 0, lastExtendedSlotStartIndex: 0 },
        });
        const asserted = new TransactionInstruction({
          programId: LIGHTHOUSE,
          keys: [{ pubkey: other.publicKey, isSigner: false, isWritable: false }],
          data: Buffer.from([9]),
        });
        const message = new TransactionMessage({
          payerKey: person.publicKey,
          recentBlockhash: BLOCKHASH,
          instructions: [memo(text), asserted],
        }).compileToV0Message([table]);
        const transaction = new VersionedTransaction(message);
        transaction.sign([person]);
        return transaction.serialize();
      },
    ],
  ])("rejects a transaction %s", async (_name, make) => {
    expect(await signInError(make)).toMatch(/^Unauthenticated: transaction:/);
  });

  it("builds no transaction for an unknown challenge or an invalid address", async () => {
    const page = anonymousClient(world.gateway);
    const unknown = page.buildSignInTransaction({ nonce: "1111111111111111111111", address });
    expect(await errorOf(unknown)).toMatch(/^InvalidArgument: nonce:/);
    const { nonce } = await newChallenge(world.gateway);
    const invalidAddress = page.buildSignInTransaction({ nonce, address: "0".repeat(40) });
    expect(await errorOf(invalidAddress)).toMatch(/^InvalidArgument: address:/);
  });
});
