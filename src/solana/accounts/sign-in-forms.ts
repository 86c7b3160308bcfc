import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { createSignInMessageText } from "@solana/wallet-standard-util";
import { PublicKey, TransactionInstruction, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import type { SignedText, SignInForms } from "../../app/accounts/sign-in.ts";
import { COMPUTE_BUDGET_PROGRAM, LIGHTHOUSE_PROGRAM, MEMO_V2_PROGRAM } from "../core/treasury.ts";

/** Used as the recent blockhash, and the hash of no block: the transaction can never be submitted. */
const NO_BLOCK = base58.encode(
  createHash("sha256").update("toolgate: signed to sign in, never to be sent").digest(),
);

/** Programs whose instructions wallets add: compute budget and assertions. */
const HARMLESS: ReadonlySet<string> = new Set([COMPUTE_BUDGET_PROGRAM, LIGHTHOUSE_PROGRAM]);

type Message = VersionedTransaction["message"];

export const signInForms: SignInForms = {
  textOf: async (input, address) => createSignInMessageText({ ...input, address }),

  async transactionOf(text, address) {
    const payerKey = new PublicKey(address);
    const memo = new TransactionInstruction({
      programId: new PublicKey(MEMO_V2_PROGRAM),
      keys: [],
      data: Buffer.from(text, "utf8"),
    });
    const message = new TransactionMessage({ payerKey, recentBlockhash: NO_BLOCK, instructions: [memo] });
    return new VersionedTransaction(message.compileToLegacyMessage()).serialize();
  },

  async readTransaction(bytes, address) {
    const transaction = opened(bytes);
    if (!transaction) return "cannot be read as a Solana transaction";
    const { message, signatures } = transaction;
    const [signature] = signatures;
    if (message.header.numRequiredSignatures !== 1 || signatures.length !== 1 || !signature)
      return "must have one signer, the address";
    if (message.staticAccountKeys[0]?.toBase58() !== address) return "must have the address as its signer";
    if (message.addressTableLookups.length > 0) return "must not take accounts from lookup tables";
    const text = memoOf(message);
    if (text === undefined) return "must have one memo, and nothing that does anything";
    return { text, message: message.serialize(), signature } satisfies SignedText;
  },
};

/** Parses a transaction in its canonical wire format; undefined for anything else. */
function opened(bytes: Uint8Array): VersionedTransaction | undefined {
  try {
    const transaction = VersionedTransaction.deserialize(bytes);
    return Buffer.from(transaction.serialize()).equals(bytes) ? transaction : undefined;
  } catch {
    return undefined;
  }
}

/** Text of the only memo; undefined for none, several, or instructions of unexpected programs. */
function memoOf({ compiledInstructions, staticAccountKeys }: Message): string | undefined {
  const programOf = (index: number) => staticAccountKeys[index]?.toBase58() ?? "";
  const [memo, ...more] = compiledInstructions.filter(
    ({ programIdIndex }) => !HARMLESS.has(programOf(programIdIndex)),
  );
  if (!memo || more.length > 0 || programOf(memo.programIdIndex) !== MEMO_V2_PROGRAM) return undefined;
  // An account named by the memo must be the signing address.
  if (memo.accountKeyIndexes.some((index) => index !== 0)) return undefined;
  return Buffer.from(memo.data).toString("utf8");
}
