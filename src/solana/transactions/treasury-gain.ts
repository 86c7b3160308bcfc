import { MAX_MICRO_USD, type MicroUsd } from "../../domain/core/money.ts";
import type { AccountKeys } from "./account-keys.ts";
import { TOKEN_PROGRAM } from "../core/addresses.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import type { TokenBalanceJson, TransactionMeta } from "./transaction-json.ts";
import type { Treasury } from "../core/treasury.ts";

/** Increase of the treasury's token account. */
export interface TreasuryGain {
  readonly kind: "gained";
  /** Index of the account in the transaction. */
  readonly account: number;
  /** Micro-USD, more than 0. */
  readonly amount: MicroUsd;
}

const LARGEST_U64 = 2n ** 64n - 1n;

/**
 * Compares the treasury's balances before and after. They, not the instructions, prove a payment: the runtime
 * records them.
 * @throws MalformedAnswer for missing or contradictory balances
 */
export function treasuryGain(
  keys: AccountKeys,
  meta: TransactionMeta,
  treasury: Treasury,
): TreasuryGain | Refusal {
  const { account, pre, post } = treasuryBalances(keys, meta, treasury);
  if (account === undefined) return missedDestination(meta.postTokenBalances ?? [], treasury);
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

/** The treasury's token account in a transaction. */
export interface TreasuryBalances {
  /** Index of the account in the transaction; undefined if the transaction does not name it. */
  readonly account: number | undefined;
  /** Undefined: the account did not exist before the transaction. */
  readonly pre: TokenBalanceJson | undefined;
  /** Undefined: the account does not exist after it. */
  readonly post: TokenBalanceJson | undefined;
}

/**
 * Finds the treasury's balances before and after. @throws MalformedAnswer for missing or contradictory
 * balances
 */
export function treasuryBalances(
  keys: AccountKeys,
  meta: TransactionMeta,
  treasury: Treasury,
): TreasuryBalances {
  const { preTokenBalances, postTokenBalances } = meta;
  if (!preTokenBalances || !postTokenBalances) throw new MalformedAnswer("the token balances are missing");
  const account = keys.find(treasury.tokenAccount);
  if (account === undefined) return { account, pre: undefined, post: undefined };
  return { account, pre: balanceOf(preTokenBalances, account), post: balanceOf(postTokenBalances, account) };
}

function balanceOf(balances: readonly TokenBalanceJson[], account: number): TokenBalanceJson | undefined {
  const own = balances.filter((balance) => balance.accountIndex === account);
  if (own.length > 1) throw new MalformedAnswer("an account has two token balances");
  return own[0];
}

/** Returns a balance in base units. @throws MalformedAnswer beyond u64 */
export function amountOf(balance: TokenBalanceJson): bigint {
  const amount = BigInt(balance.uiTokenAmount.amount);
  if (amount > LARGEST_U64) throw new MalformedAnswer("a token balance is above 2^64 - 1");
  return amount;
}

/** Describes where the payment went instead, if the transaction shows it. */
function missedDestination(balances: readonly TokenBalanceJson[], treasury: Treasury): Refusal {
  const other = balances.find((balance) => balance.owner === treasury.owner);
  if (other?.programId !== undefined && other.programId !== TOKEN_PROGRAM) return refusal.wrongTokenProgram();
  if (other && other.mint !== treasury.mint) return refusal.wrongMint(other.mint, treasury);
  return refusal.wrongDestination(treasury);
}
