import type { MicroUsd } from "../../domain/core/money.ts";
import { accountKeysOf } from "./transaction-json.ts";
import { paymentMemo, blockTimeOf, openTransaction } from "./payment-memo.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { payerOf, transfersInto, type TokenTransfer, treasuryGain } from "./token-transfers.ts";
import type { Treasury } from "../core/treasury.ts";

export interface EvidenceRules {
  readonly treasury: Treasury;
  /** MEMO_PREFIX. */
  readonly memoPrefix: string;
}

export interface Payment {
  readonly kind: "paid";
  /** Amount the treasury received, micro-USD. */
  readonly amount: MicroUsd;
  /** Text of our memo. */
  readonly memo: string;
  /** Owner of the token account that sent the largest part, base58; undefined if unknown. */
  readonly payer: string | undefined;
  readonly slot: bigint;
  readonly blockTime: Date;
}

/**
 * Verifies a `getTransaction` result (`encoding: "json"`), in this order: requested transaction, success,
 * known accounts, USDC gained by the treasury, transfers that explain the gain, exactly one memo of ours.
 * @param txSignature the requested signature
 * @throws ZodError or MalformedAnswer for an incomplete or contradictory result: try another endpoint
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
