import type { MicroUsd } from "../domain/core/money.ts";
import { accountKeysOf } from "./account-keys.ts";
import { paymentMemo } from "./payment-memo.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { MalformedAnswer } from "./rpc-failure.ts";
import { payerOf, transfersInto, type TokenTransfer } from "./token-transfers.ts";
import { blockTimeOf, openTransaction } from "./transaction-opening.ts";
import type { Treasury } from "./treasury.ts";
import { treasuryGain } from "./treasury-gain.ts";

/** What transactions are judged by. */
export interface EvidenceRules {
  readonly treasury: Treasury;
  /** MEMO_PREFIX. */
  readonly memoPrefix: string;
}

/** A payment to the treasury, as the chain shows it. */
export interface Payment {
  readonly kind: "paid";
  /** What the treasury gained, micro-USD. */
  readonly amount: MicroUsd;
  /** Text of the one memo of ours. */
  readonly memo: string;
  /** Owner of the token account that sent the largest part, base58; undefined where the chain does not show it. */
  readonly payer: string | undefined;
  readonly slot: bigint;
  readonly blockTime: Date;
}

/**
 * Judges a `getTransaction` result (`encoding: "json"`). The checks run in this order: it is the transaction asked for, it
 * succeeded, its accounts are all known, the treasury gained USDC, transfers explain the gain, exactly one memo is ours.
 * @param txSignature the signature that was asked for
 * @throws ZodError or MalformedAnswer when the answer is incomplete or contradicts itself: that is no verdict, ask another endpoint
 */
export function judgeTransaction(
  txSignature: string,
  result: unknown,
  rules: EvidenceRules,
): Payment | Refusal {
  const opened = openTransaction(txSignature, result);
  if (!opened) return refusal.notTheFirstSignature();
  const { json, meta } = opened;
  if (meta.err !== null) return refusal.failedTransaction(meta.err);

  const keys = accountKeysOf(json, meta);
  const gain = treasuryGain(keys, meta, rules.treasury);
  if (gain.kind === "refused") return gain;

  const incoming = transfersInto(gain.account, json, meta, keys);
  if (sum(incoming) !== gain.amount) {
    if (!meta.innerInstructions) throw new MalformedAnswer("innerInstructions is missing");
    return refusal.unexplainedChange();
  }
  const memo = paymentMemo(json, keys, rules.memoPrefix);
  if (memo.kind === "refused") return memo;
  return {
    kind: "paid",
    amount: gain.amount,
    memo: memo.text,
    payer: payerOf(incoming, meta),
    slot: BigInt(json.slot),
    blockTime: blockTimeOf(json),
  };
}

function sum(transfers: readonly TokenTransfer[]): bigint {
  return transfers.reduce((total, transfer) => total + transfer.amount, 0n);
}
