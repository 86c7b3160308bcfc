import { parseAddress } from "../../domain/core/base58.ts";
import type { AccountKeys } from "./account-keys.ts";
import { TOKEN_PROGRAM } from "../core/addresses.ts";
import { instructionData } from "./instruction-data.ts";
import type { InstructionJson, TransactionJson, TransactionMeta } from "./transaction-json.ts";

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
