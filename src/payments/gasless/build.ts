import { createTransferCheckedInstruction } from "@solana/spl-token";
import {
  ComputeBudgetProgram,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import type { RecentBlockhash } from "../../app/payments/gasless/relay-chain.ts";
import type { UnsignedTransaction } from "../../app/payments/gasless/sponsor.ts";
import { MEMO_V2_PROGRAM, USDC_DECIMALS, USDC_MINT } from "./programs.ts";

/** Enough for a transfer with a memo. */
const UNITS = 40_000;
/** Micro-lamports per unit: 400 lamports in total, so that payments land in busy hours. */
const PRICE = 10_000;

/** Accounts are 32 bytes. */
export interface PaymentPlan {
  readonly feePayer: Buffer;
  readonly payer: Buffer;
  readonly source: Buffer;
  readonly destination: Buffer;
  /** Micro-USD. */
  readonly amount: bigint;
  readonly memo: string;
  readonly recent: RecentBlockhash;
}

/** Builds the version 0 transaction that the rules require, in the order of the x402 client. */
export function buildPayment({ recent, ...plan }: PaymentPlan): UnsignedTransaction {
  const [payer, feePayer] = [new PublicKey(plan.payer), new PublicKey(plan.feePayer)];
  const [source, destination] = [new PublicKey(plan.source), new PublicKey(plan.destination)];
  const mint = new PublicKey(USDC_MINT);
  const message = new TransactionMessage({
    payerKey: feePayer,
    recentBlockhash: recent.blockhash,
    instructions: [
      ComputeBudgetProgram.setComputeUnitLimit({ units: UNITS }),
      ComputeBudgetProgram.setComputeUnitPrice({ microLamports: PRICE }),
      createTransferCheckedInstruction(source, mint, destination, payer, plan.amount, USDC_DECIMALS),
      new TransactionInstruction({
        programId: new PublicKey(MEMO_V2_PROGRAM),
        keys: [],
        data: Buffer.from(plan.memo),
      }),
    ],
  }).compileToV0Message();
  return {
    transaction: new VersionedTransaction(message).serialize(),
    message: message.serialize(),
    feePayer: feePayer.toBase58(),
    lastValidBlockHeight: recent.lastValidBlockHeight,
  };
}
