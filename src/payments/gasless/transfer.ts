import { createTransferCheckedInstruction } from "@solana/spl-token";
import {
  ComputeBudgetProgram,
  PublicKey,
  TransactionInstruction,
  TransactionMessage,
  VersionedTransaction,
} from "@solana/web3.js";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import type { RecentBlockhash, UnsignedTransaction } from "../../app/payments/gasless/relay-port.ts";
import { USDC_DECIMALS, USDC_MINT, MEMO_V2_PROGRAM } from "./layout.ts";
import type { UsdcAccounts } from "./usdc-accounts.ts";
import type { WireInstruction, WireTransaction } from "./wire-transaction.ts";

/** TransferChecked of SPL Token. All other instructions that move or delegate tokens are rejected. */
const TRANSFER_CHECKED = 12;

export interface Treasury {
  /** Wallet, 32 bytes. */
  readonly owner: Buffer;
  /** USDC account, 32 bytes. */
  readonly tokenAccount: Buffer;
}

/**
 * Checks that the transfer moves USDC from the payer's associated token account to the treasury and that
 * the payer signs. Other source accounts are rejected: only the network knows whose money they hold.
 * @returns the amount, micro-USD
 */
export function checkTransfer(
  { data, accounts }: WireInstruction,
  { keys }: WireTransaction,
  treasury: Treasury,
  usdcAccounts: UsdcAccounts,
): bigint {
  if (data[0] !== TRANSFER_CHECKED) {
    throw relayRefused(
      RELAY_REFUSALS.TRANSFER_KIND,
      `the SPL Token instruction is of kind ${data[0] ?? "none"}; it must be TransferChecked (kind ` +
        `${TRANSFER_CHECKED})`,
    );
  }
  if (data.length !== 10) {
    throw relayRefused(
      RELAY_REFUSALS.INSTRUCTION_DATA,
      `TransferChecked has ${data.length} bytes of data and must have 10`,
    );
  }
  const [source, mint, destination, authority] = accounts;
  if (accounts.length !== 4 || source === undefined || mint === undefined || destination === undefined) {
    throw relayRefused(
      RELAY_REFUSALS.INSTRUCTION_ACCOUNTS,
      `TransferChecked names ${accounts.length} accounts and must name four: source, mint, ` +
        "destination and payer; multisig wallets pay by themselves",
    );
  }
  if (!same(keys[mint], USDC_MINT))
    throw relayRefused(RELAY_REFUSALS.TRANSFER_MINT, "the transfer must be of USDC");
  if (data.readUInt8(9) !== USDC_DECIMALS) {
    throw relayRefused(
      RELAY_REFUSALS.TRANSFER_DECIMALS,
      `USDC has ${USDC_DECIMALS} decimal places, and TransferChecked must say so`,
    );
  }
  checkParties(
    { source: keys[source], destination: keys[destination], authority, payer: keys[1] },
    treasury,
    usdcAccounts,
  );
  return data.readBigUInt64LE(1);
}

interface Parties {
  readonly source: Buffer | undefined;
  readonly destination: Buffer | undefined;
  /** Index of the authority. */
  readonly authority: number | undefined;
  readonly payer: Buffer | undefined;
}

function checkParties(
  { source, destination, authority, payer }: Parties,
  treasury: Treasury,
  usdcAccounts: UsdcAccounts,
) {
  if (!same(destination, treasury.tokenAccount)) {
    throw relayRefused(
      RELAY_REFUSALS.TRANSFER_DESTINATION,
      "the transfer must go to the treasury's USDC account, the pay_to of the payment instructions",
    );
  }
  if (authority !== 1 || !payer) {
    throw relayRefused(
      RELAY_REFUSALS.TRANSFER_AUTHORITY,
      "the transfer's authority must be the second signer, the payer",
    );
  }
  if (same(payer, treasury.owner)) {
    throw relayRefused(
      RELAY_REFUSALS.PAYER_IS_TREASURY,
      "the treasury cannot pay itself; pay from a wallet of your own",
    );
  }
  if (!same(source, usdcAccounts.of(payer))) {
    throw relayRefused(
      RELAY_REFUSALS.TRANSFER_SOURCE,
      "the transfer must come from the payer's associated token account for USDC; pay from other " +
        "accounts by yourself",
    );
  }
}

function same(one: Buffer | undefined, other: Buffer): boolean {
  return one?.equals(other) === true;
}

/** Enough for a transfer with a memo. */
const UNITS = 40_000;
/** Micro-lamports per unit: 400 lamports in total, so that payments land in busy hours. */
const PRICE = 10_000;

/** Accounts are 32 bytes. */
interface PaymentPlan {
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
