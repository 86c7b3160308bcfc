import { base58 } from "@scure/base";
import type { ReadSignedPayment, SignedPayment } from "../../app/deposits/deposits.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import { isSignedBy } from "../../domain/core/ed25519.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { parseMemo } from "../../domain/payments/memo.ts";
import { ASSERTIONS, withoutGuards } from "../gasless/transaction-rules.ts";
import { readLayout, USDC_MINT } from "../gasless/layout.ts";
import { readTransaction, type WireInstruction, type WireTransaction } from "../gasless/wire-transaction.ts";

/** TransferChecked of SPL Token, and its data length in bytes. */
const [TRANSFER_CHECKED, TRANSFER_BYTES] = [12, 10];

export interface SignedPaymentRules {
  /** The treasury's token account, base58. */
  readonly payTo: string;
  /** MEMO_PREFIX. */
  readonly memoPrefix: string;
}

/**
 * Returns a parser for wallet-signed payments. Accepts what the console builds and wallets add: compute
 * limit and price, one memo in our format, one USDC transfer to the treasury, Lighthouse assertions, all
 * signed. The payer bears the cost, so this protects no money: it keeps the gateway from sending foreign
 * transactions.
 */
export function signedPaymentReader({ payTo, memoPrefix }: SignedPaymentRules): ReadSignedPayment {
  const address = parseAddress(payTo);
  if (!address) throw new TypeError("payTo: must be an address");
  const treasury = Buffer.from(address);
  return (bytes) => {
    const wire = wireOf(bytes);
    const { transfer, memo } = layoutOf(wire);
    demandTransfer(transfer, wire, treasury);
    const text = memo.data.toString("utf8");
    if (!parseMemo(text, memoPrefix))
      throw refused(`its memo must be the one of a deposit or of a quote, ${memoPrefix}:<id>`);
    return { txSignature: signatureOf(wire), memo: text };
  };
}

function wireOf(bytes: Uint8Array): WireTransaction {
  try {
    return readTransaction(bytes);
  } catch (error) {
    throw unlike(error);
  }
}

function layoutOf(wire: WireTransaction): { transfer: WireInstruction; memo: WireInstruction } {
  try {
    return readLayout(withoutGuards(wire, ASSERTIONS).rest, wire.keys);
  } catch (error) {
    throw unlike(error);
  }
}

function demandTransfer(
  { data, accounts }: WireInstruction,
  { keys }: WireTransaction,
  treasury: Buffer,
): void {
  const [, mint, destination] = accounts.map((index) => keys[index]);
  if (data[0] !== TRANSFER_CHECKED || data.length !== TRANSFER_BYTES || accounts.length < 4)
    throw refused("its token instruction must be TransferChecked");
  if (mint?.equals(USDC_MINT) !== true) throw refused("its transfer must be of USDC");
  if (destination?.equals(treasury) !== true)
    throw refused("its transfer must go to the treasury's token account");
  if (data.readBigUInt64LE(1) === 0n) throw refused("its transfer moves nothing");
}

/** Returns the first signature. @throws ToolgateError INVALID_REQUEST when one is missing or invalid */
function signatureOf({ keys, message, signatures }: WireTransaction): SignedPayment["txSignature"] {
  for (const [index, signature] of signatures.entries()) {
    const key = keys[index];
    if (!key || !isSignedBy(key, message, signature))
      throw refused(
        `it lacks the signature of ${base58.encode(key ?? new Uint8Array())}; have the wallet sign it`,
      );
  }
  return base58.encode(signatures[0] ?? new Uint8Array());
}

function unlike(error: unknown): unknown {
  if (!(error instanceof ToolgateError)) return error;
  return refused(error.message.replace(/^payment verification failed \(\w+\): /, ""));
}

function refused(problem: string): ToolgateError {
  return invalidField(
    "transaction",
    `${problem}. Send what BuildDepositTransaction or BuildQuoteTransaction made, signed`,
  );
}
