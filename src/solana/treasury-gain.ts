import { MAX_MICRO_USD, type MicroUsd } from "../domain/money.ts";
import type { AccountKeys } from "./account-keys.ts";
import { TOKEN_PROGRAM } from "./addresses.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { MalformedAnswer } from "./rpc-failure.ts";
import type { TokenBalanceJson, TransactionMeta } from "./transaction-json.ts";
import type { Treasury } from "./treasury.ts";

/** What the treasury's token account gained. */
export interface TreasuryGain {
  readonly kind: "gained";
  /** The account's number in the transaction. */
  readonly account: number;
  /** Micro-USD, more than 0. */
  readonly amount: MicroUsd;
}

const LARGEST_U64 = 2n ** 64n - 1n;

/**
 * Compares the treasury's balance before and after. This, and not the reading of instructions, is what says that money came:
 * whatever programs did, the runtime recorded the outcome.
 * @throws MalformedAnswer when the answer lacks balances or contradicts itself
 */
export function treasuryGain(keys: AccountKeys, meta: TransactionMeta, treasury: Treasury): TreasuryGain | Refusal {
  const { preTokenBalances, postTokenBalances } = meta;
  if (!preTokenBalances || !postTokenBalances) throw new MalformedAnswer("the token balances are missing");
  const account = keys.find(treasury.tokenAccount);
  if (account === undefined) return missedDestination(postTokenBalances, treasury);
  const pre = balanceOf(preTokenBalances, account);
  const post = balanceOf(postTokenBalances, account);
  if (!pre && !post) return refusal.nothingReceived();
  if (!pre || !post) return refusal.treasuryAccountNotOpen();
  for (const balance of [pre, post]) {
    const { mint, owner, programId } = balance;
    if (owner === undefined || programId === undefined)
      throw new MalformedAnswer("a token balance lacks owner or programId");
    if (programId !== TOKEN_PROGRAM) return refusal.wrongTokenProgram();
    if (mint !== treasury.mint) return refusal.wrongMint(mint, treasury);
    if (owner !== treasury.owner) return refusal.wrongDestination(treasury);
  }
  const amount = amountOf(post) - amountOf(pre);
  if (amount <= 0n) return refusal.nothingReceived();
  return amount > MAX_MICRO_USD ? refusal.amountOutOfRange() : { kind: "gained", account, amount };
}

function balanceOf(balances: readonly TokenBalanceJson[], account: number): TokenBalanceJson | undefined {
  const own = balances.filter((balance) => balance.accountIndex === account);
  if (own.length > 1) throw new MalformedAnswer("an account has two token balances");
  return own[0];
}

function amountOf(balance: TokenBalanceJson): bigint {
  const amount = BigInt(balance.uiTokenAmount.amount);
  if (amount > LARGEST_U64) throw new MalformedAnswer("a token balance is above 2^64 - 1");
  return amount;
}

/** Tells what was paid instead, where the transaction shows it. */
function missedDestination(balances: readonly TokenBalanceJson[], treasury: Treasury): Refusal {
  const other = balances.find((balance) => balance.owner === treasury.owner);
  if (other?.programId !== undefined && other.programId !== TOKEN_PROGRAM) return refusal.wrongTokenProgram();
  if (other && other.mint !== treasury.mint) return refusal.wrongMint(other.mint, treasury);
  return refusal.wrongDestination(treasury);
}
