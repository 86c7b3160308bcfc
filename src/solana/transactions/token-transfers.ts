import { parseAddress } from "../../domain/core/base58.ts";
import { TOKEN_PROGRAM, type Treasury } from "../core/treasury.ts";
import { MAX_MICRO_USD, type MicroUsd } from "../../domain/core/money.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import {
  type AccountKeys,
  instructionData,
  type InstructionJson,
  type TransactionJson,
  type TransactionMeta,
  type TokenBalanceJson,
} from "./transaction-json.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";

/** A token transfer between two accounts, by their indexes in the transaction. */
export interface TokenTransfer {
  readonly source: number;
  readonly destination: number;
  /** Base units. */
  readonly amount: bigint;
}

// Discriminators of the SPL Token program's instructions.
const TRANSFER = 3;
const TRANSFER_CHECKED = 12;
const BATCH = 255;

/**
 * Maximum base58 length of decoded instruction data, more than a transaction of 1232 bytes can hold. Inner
 * instructions can hold ten times as much; decoding that would allow one caller to stall others.
 */
const LONGEST_DATA_BASE58 = 1_700;

/** Lists every transfer into an account, in top-level and inner instructions. */
export function transfersInto(
  account: number,
  json: TransactionJson,
  meta: TransactionMeta,
  keys: AccountKeys,
): TokenTransfer[] {
  return tokenTransfers(json, meta, keys).filter(({ destination }) => destination === account);
}

/**
 * Returns the sender of the largest part: the owner before the transaction, since the source may be closed or
 * reassigned by it.
 * @returns base58; undefined if unknown
 */
export function payerOf(incoming: readonly TokenTransfer[], meta: TransactionMeta): string | undefined {
  const [first, ...rest] = incoming;
  if (!first) return undefined;
  const largest = rest.reduce((most, transfer) => (transfer.amount > most.amount ? transfer : most), first);
  const owner = meta.preTokenBalances?.find((balance) => balance.accountIndex === largest.source)?.owner;
  // Stored and shown to operators, so anything but an address is dropped.
  return owner !== undefined && parseAddress(owner) ? owner : undefined;
}

function tokenTransfers(
  { transaction: { message } }: TransactionJson,
  meta: TransactionMeta,
  keys: AccountKeys,
): TokenTransfer[] {
  const transfers: TokenTransfer[] = [];
  const add = (instruction: InstructionJson) => {
    if (
      keys.at(instruction.programIdIndex) !== TOKEN_PROGRAM ||
      instruction.data.length > LONGEST_DATA_BASE58
    )
      return;
    const data = Buffer.from(instructionData(instruction.data));
    if (data[0] === BATCH) transfers.push(...batched(data, instruction.accounts));
    else push(transfers, transferOf(data, instruction.accounts));
  };
  message.instructions.forEach(add);
  for (const inner of meta.innerInstructions ?? []) inner.instructions.forEach(add);
  return transfers;
}

/**
 * Reads Transfer (u64 amount) and TransferChecked (u64 amount, u8 decimals); their accounts are source,
 * [mint,] destination, authority.
 */
function transferOf(data: Buffer, accounts: readonly number[]): TokenTransfer | undefined {
  const checked = data[0] === TRANSFER_CHECKED;
  if (!checked && data[0] !== TRANSFER) return undefined;
  const source = accounts[0];
  const destination = accounts[checked ? 2 : 1];
  if (data.length < (checked ? 10 : 9) || source === undefined || destination === undefined) return undefined;
  return { source, destination, amount: data.readBigUInt64LE(1) };
}

/**
 * Parses a Batch, which leaves no inner instructions. Each part: u8 accounts, u8 data length, data.
 * Accounts are consecutive. Batches do not nest.
 */
function batched(data: Buffer, accounts: readonly number[]): TokenTransfer[] {
  const transfers: TokenTransfer[] = [];
  let nextAccount = 0;
  for (let at = 1; at + 2 <= data.length;) {
    const accountsEnd = nextAccount + data.readUInt8(at);
    const dataEnd = at + 2 + data.readUInt8(at + 1);
    if (dataEnd > data.length || accountsEnd > accounts.length) break;
    push(transfers, transferOf(data.subarray(at + 2, dataEnd), accounts.slice(nextAccount, accountsEnd)));
    at = dataEnd;
    nextAccount = accountsEnd;
  }
  return transfers;
}

function push(transfers: TokenTransfer[], transfer: TokenTransfer | undefined): void {
  if (transfer) transfers.push(transfer);
}

interface TreasuryGain {
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

interface TreasuryBalances {
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
