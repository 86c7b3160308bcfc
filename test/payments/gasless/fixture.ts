import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import {
  ComputeBudgetProgram,
  Keypair,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
  type AddressLookupTableAccount,
  type AccountMeta,
} from "@solana/web3.js";
import { expect } from "vitest";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { Quote } from "../../../src/domain/payments/quote.ts";
import type { RelayRefusal } from "../../../src/domain/payments/relay-refusal.ts";
import { GaslessSponsor, readFeePayer } from "../../../src/payments/gasless/index.ts";

export const MINT = new PublicKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");
export const MEMO_V2 = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
export const MEMO_V1 = new PublicKey("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo");
export const LIGHTHOUSE = new PublicKey("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");

export const PRICE = 10_000n;

/** Participants of a relayed payment. */
export interface Scene {
  readonly feePayer: Keypair;
  readonly payer: Keypair;
  readonly treasuryOwner: PublicKey;
  readonly sponsor: GaslessSponsor;
  readonly quote: Quote;
  readonly memo: string;
}

/** A quote with the members that the relay reads; its identifier has the length of sealed ones. */
export function quoteOf(letter = "A", price = PRICE): Quote {
  const now = Date.now();
  const quoteId = `qt_${letter.repeat(110)}`;
  return {
    quoteId,
    accountId: "acct_1",
    price,
    issuedAt: now,
    expiresAt: now + 300_000,
    fingerprint: Buffer.alloc(16),
  };
}

export function makeScene(people: Partial<Pick<Scene, "feePayer" | "payer" | "treasuryOwner">> = {}): Scene {
  const feePayer = people.feePayer ?? Keypair.generate();
  const treasuryOwner = people.treasuryOwner ?? Keypair.generate().publicKey;
  const sponsor = new GaslessSponsor({
    feePayer: readFeePayer(JSON.stringify([...feePayer.secretKey])),
    treasuryOwner: treasuryOwner.toBase58(),
    memoPrefix: "svc",
  });
  const quote = quoteOf();
  return {
    feePayer,
    payer: people.payer ?? Keypair.generate(),
    treasuryOwner,
    sponsor,
    quote,
    memo: `svc:${quote.quoteId}`,
  };
}

export function usdcOf(owner: PublicKey): PublicKey {
  return getAssociatedTokenAddressSync(MINT, owner, true);
}

export const limit = (units = 20_000) => ComputeBudgetProgram.setComputeUnitLimit({ units });
export const bid = (microLamports: number | bigint = 1) =>
  ComputeBudgetProgram.setComputeUnitPrice({ microLamports });

/** The transfer that pays, or one that differs from it. */
export function transfer(
  { payer, treasuryOwner }: Scene,
  change: {
    amount?: bigint;
    source?: PublicKey;
    mint?: PublicKey;
    to?: PublicKey;
    authority?: PublicKey;
    decimals?: number;
  } = {},
): TransactionInstruction {
  return createTransferCheckedInstruction(
    change.source ?? usdcOf(payer.publicKey),
    change.mint ?? MINT,
    change.to ?? usdcOf(treasuryOwner),
    change.authority ?? payer.publicKey,
    change.amount ?? PRICE,
    change.decimals ?? 6,
  );
}

export function memo(
  data: string | Uint8Array,
  programId = MEMO_V2,
  keys: AccountMeta[] = [],
): TransactionInstruction {
  return new TransactionInstruction({ programId, keys, data: Buffer.from(data) });
}

/** A Lighthouse assertion: its kind, and data of the length that wallets write. */
export function guard(
  kind: number | undefined,
  bytes: number,
  looksAt: readonly PublicKey[],
): TransactionInstruction {
  const keys = looksAt.map((pubkey) => ({ pubkey, isSigner: false, isWritable: false }));
  const data = kind === undefined ? Buffer.alloc(0) : Buffer.alloc(bytes, 4).fill(kind, 0, 1);
  return new TransactionInstruction({ programId: LIGHTHOUSE, keys, data });
}

/** The x402 client's instructions: limit, price, transfer, memo. */
export function payment(scene: Scene): TransactionInstruction[] {
  return [limit(), bid(), transfer(scene), memo(scene.memo)];
}

/** How the instructions become bytes. */
export interface Wrapping {
  readonly legacy?: boolean;
  readonly feePayer?: PublicKey;
  readonly blockhash?: string;
  readonly tables?: AddressLookupTableAccount[];
  /** Signers besides the payer. */
  readonly others?: Keypair[];
}

/** The transaction as the payer sends it: everything signed but for the fee payer. */
export function signed(
  scene: Scene,
  instructions: TransactionInstruction[],
  wrapping: Wrapping = {},
): Uint8Array {
  const message = new TransactionMessage({
    payerKey: wrapping.feePayer ?? scene.feePayer.publicKey,
    recentBlockhash: wrapping.blockhash ?? PublicKey.default.toBase58(),
    instructions,
  });
  const compiled = wrapping.legacy
    ? message.compileToLegacyMessage()
    : message.compileToV0Message(wrapping.tables);
  const transaction = new VersionedTransaction(compiled);
  const signers = [scene.payer, ...(wrapping.others ?? [])];
  const required = new Set(
    compiled.staticAccountKeys.slice(0, compiled.header.numRequiredSignatures).map(String),
  );
  transaction.sign(signers.filter(({ publicKey }) => required.has(publicKey.toBase58())));
  return transaction.serialize();
}

/** Decodes and signs, as the relay does. @returns the wire bytes that are sent */
export function sponsored(scene: Scene, bytes: Uint8Array): Uint8Array {
  return scene.sponsor.sign(scene.sponsor.decode(bytes), scene.quote).signedTransaction;
}

/** The refusal's code and status; undefined when it is signed. */
export function refusalOf(scene: Scene, bytes: Uint8Array): { reason: string; status: number } | undefined {
  try {
    sponsored(scene, bytes);
    return undefined;
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    expect(error.code).toBe("INVALID_PAYMENT");
    const [, reason = "", sentence = ""] =
      /^payment verification failed \((\w+)\): (.+)$/u.exec(error.message) ?? [];
    expect(sentence.length, error.message).toBeGreaterThan(20);
    return { reason, status: error.status };
  }
}

/** The good payment is signed, this one is not, and for this reason. */
export function expectRefused(scene: Scene, bytes: Uint8Array, reason: RelayRefusal): void {
  expect(refusalOf(scene, signed(scene, payment(scene)))).toBeUndefined();
  expect(refusalOf(scene, bytes)?.reason).toBe(reason);
}
