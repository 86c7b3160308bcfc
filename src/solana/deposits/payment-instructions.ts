import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import { PublicKey, TransactionInstruction } from "@solana/web3.js";
import type { MicroUsd } from "../../domain/core/money.ts";
import { MEMO_V2_PROGRAM, USDC_DECIMALS, USDC_MINT } from "../core/treasury.ts";

/** A payment as requested by payment instructions (specification 2.3). */
export interface PaymentOrder {
  /** Wallet that owns the USDC and signs, base58. */
  readonly payer: string;
  /** `pay_to`: the treasury's token account, base58. */
  readonly payTo: string;
  /** Micro-USD, 1..2^64-1. */
  readonly amount: MicroUsd;
  /** One of the memo forms (specification 2.4). */
  readonly memo: string;
}

const LARGEST_U64 = 2n ** 64n - 1n;

/**
 * Builds a payment: the memo, then the transfer from the payer's associated token account (Solana Pay,
 * transfer request, `memo`).
 * @throws RangeError for an amount beyond u64, which the encoder would silently wrap
 */
export function paymentInstructions({ payer, payTo, amount, memo }: PaymentOrder): TransactionInstruction[] {
  if (amount < 1n || amount > LARGEST_U64)
    throw new RangeError("amount: must be between 1 and 2^64 - 1 micro-USD");
  const [owner, mint] = [new PublicKey(payer), new PublicKey(USDC_MINT)];
  const source = getAssociatedTokenAddressSync(mint, owner, true);
  return [
    new TransactionInstruction({
      programId: new PublicKey(MEMO_V2_PROGRAM),
      keys: [],
      data: Buffer.from(memo, "utf8"),
    }),
    createTransferCheckedInstruction(source, mint, new PublicKey(payTo), owner, amount, USDC_DECIMALS),
  ];
}
