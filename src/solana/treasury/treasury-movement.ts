import type { Movement } from "../../app/treasury/treasury-ledger.ts";
import { parseMemo } from "../../domain/payments/memo.ts";
import { accountKeysOf, type TokenBalanceJson } from "../transactions/transaction-json.ts";
import { TOKEN_PROGRAM, printable, type Treasury } from "../core/treasury.ts";
import { memoTexts, blockTimeOf, openTransaction } from "../transactions/payment-memo.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { payerOf, transfersInto, amountOf, treasuryBalances } from "../transactions/token-transfers.ts";
import type { EvidenceRules } from "../transactions/transaction-evidence.ts";

export interface MovementReading {
  readonly movement: Movement;
  readonly failed: boolean;
}

const LONGEST_MEMOS = 256;

/**
 * Reads the movement of the treasury's token account from a `getTransaction` result (`encoding: "json"`), by
 * its balances.
 * @param txSignature the requested signature
 * @returns undefined if the transaction does not name the account, has another identity, or lacks a block
 * time
 * @throws ZodError or MalformedAnswer for an incomplete or contradictory result: try another endpoint
 */
export function readMovement(
  txSignature: string,
  result: unknown,
  rules: EvidenceRules,
): MovementReading | undefined {
  const opened = openTransaction(txSignature, result);
  // Nodes learn a block's time shortly after the block, which is not a fault.
  if (!opened || opened.json.blockTime === null) return undefined;
  const { json, meta } = opened;
  const keys = accountKeysOf(json, meta);
  const { account, pre, post } = treasuryBalances(keys, meta, rules.treasury);
  if (account === undefined) return undefined;
  const [before, after] = [held(pre, rules.treasury), held(post, rules.treasury)];
  const change = after.amount - before.amount;
  const failed = meta.err !== null;
  if (failed && change !== 0n) throw new MalformedAnswer("a failed transaction changed a token balance");
  const texts = memoTexts(json, keys).filter((text) => text !== undefined);
  const ours = texts.filter((text) => parseMemo(text, rules.memoPrefix));
  const movement = {
    txSignature,
    slot: BigInt(json.slot),
    blockTime: blockTimeOf(json),
    change,
    balanceAfter: after.amount,
    // If the account changed its owner, the movement is not the treasury's and credits no account.
    memo: ours.length === 1 && before.own && after.own ? ours[0] : undefined,
    memos: texts.length === 0 ? undefined : readable(texts.join(" | ")),
    payer: change > 0n ? payerOf(transfersInto(account, json, meta, keys), meta) : undefined,
  };
  return { movement, failed };
}

/** Balance of the account; 0 while it did not exist. */
function held(balance: TokenBalanceJson | undefined, treasury: Treasury): { amount: bigint; own: boolean } {
  if (!balance) return { amount: 0n, own: true };
  const { mint, owner, programId } = balance;
  if (owner === undefined || programId === undefined)
    throw new MalformedAnswer("a token balance lacks owner or programId");
  // The address is derived from both, so another value is a malformed result.
  if (programId !== TOKEN_PROGRAM || mint !== treasury.mint)
    throw new MalformedAnswer("the treasury's account has another mint or token program");
  return { amount: amountOf(balance), own: owner === treasury.owner };
}

function readable(text: string): string {
  return printable(text).slice(0, LONGEST_MEMOS).toWellFormed();
}
