import type { Movement } from "../app/treasury/treasury-chain.ts";
import { parseMemo } from "../domain/payments/memo.ts";
import { accountKeysOf } from "./account-keys.ts";
import { TOKEN_PROGRAM } from "./addresses.ts";
import { memoTexts } from "./payment-memo.ts";
import { printable } from "./printable.ts";
import { MalformedAnswer } from "./rpc-failure.ts";
import { payerOf, transfersInto } from "./token-transfers.ts";
import type { EvidenceRules } from "./transaction-evidence.ts";
import type { TokenBalanceJson } from "./transaction-json.ts";
import { blockTimeOf, openTransaction } from "./transaction-opening.ts";
import type { Treasury } from "./treasury.ts";
import { amountOf, treasuryBalances } from "./treasury-gain.ts";

/** A movement, and whether its transaction failed. */
export interface MovementReading {
  readonly movement: Movement;
  readonly failed: boolean;
}

const LONGEST_MEMOS = 256;

/**
 * Reads from a `getTransaction` result (`encoding: "json"`) what it did to the treasury's token account, also where it is no
 * payment. The balances before and after say it; what they do not show did not happen.
 * @param txSignature the signature that was asked for
 * @returns undefined when the transaction does not name the account or has another identity, or its time is not known
 * @throws ZodError or MalformedAnswer when the answer is incomplete or contradicts itself: ask another endpoint
 */
export function readMovement(
  txSignature: string,
  result: unknown,
  rules: EvidenceRules,
): MovementReading | undefined {
  const opened = openTransaction(txSignature, result);
  // Nodes learn the time of a block a moment after the block: that is no fault of theirs, and passes.
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
    // What reaches an account that was handed over is not the treasury's: nobody is credited with it.
    memo: ours.length === 1 && before.own && after.own ? ours[0] : undefined,
    memos: texts.length === 0 ? undefined : readable(texts.join(" | ")),
    payer: change > 0n ? payerOf(transfersInto(account, json, meta, keys), meta) : undefined,
  };
  return { movement, failed };
}

/** What the account held; nothing while it was not open. */
function held(balance: TokenBalanceJson | undefined, treasury: Treasury): { amount: bigint; own: boolean } {
  if (!balance) return { amount: 0n, own: true };
  const { mint, owner, programId } = balance;
  if (owner === undefined || programId === undefined)
    throw new MalformedAnswer("a token balance lacks owner or programId");
  // The address is derived from both, so that no other account can have it.
  if (programId !== TOKEN_PROGRAM || mint !== treasury.mint)
    throw new MalformedAnswer("the treasury's account has another mint or token program");
  return { amount: amountOf(balance), own: owner === treasury.owner };
}

function readable(text: string): string {
  return printable(text).slice(0, LONGEST_MEMOS).toWellFormed();
}
