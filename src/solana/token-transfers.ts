import { parseAddress } from "../domain/core/base58.ts";
import type { AccountKeys } from "./account-keys.ts";
import { TOKEN_PROGRAM } from "./addresses.ts";
import { instructionData } from "./instruction-data.ts";
import type { InstructionJson, TransactionJson, TransactionMeta } from "./transaction-json.ts";

/** Tokens that moved from one account to another, by their numbers in the transaction. */
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
 * Longer data is read as no transfer, base58 characters: more than a transaction of 1232 bytes can hold. Programs can send the Token
 * program ten times as much, which it takes and which costs time to decode: nobody may stop others with it.
 */
const LONGEST_DATA_BASE58 = 1_700;

/** Every transfer into an account that the Token program made, at the top level and on behalf of other programs. */
export function transfersInto(
  account: number,
  json: TransactionJson,
  meta: TransactionMeta,
  keys: AccountKeys,
): TokenTransfer[] {
  return tokenTransfers(json, meta, keys).filter(({ destination }) => destination === account);
}

/**
 * Who sent the largest part. It is the owner before the transaction: after it the source account may be closed or have changed hands.
 * @returns base58; undefined where the chain does not show it
 */
export function payerOf(incoming: readonly TokenTransfer[], meta: TransactionMeta): string | undefined {
  const [first, ...rest] = incoming;
  if (!first) return undefined;
  const largest = rest.reduce((most, transfer) => (transfer.amount > most.amount ? transfer : most), first);
  const owner = meta.preTokenBalances?.find((balance) => balance.accountIndex === largest.source)?.owner;
  // It is stored and shown to the operator, so that nothing else may come through.
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

/** Reads Transfer (u64 amount) and TransferChecked (u64 amount, u8 decimals); their accounts are source, [mint,] destination, authority. */
function transferOf(data: Buffer, accounts: readonly number[]): TokenTransfer | undefined {
  const checked = data[0] === TRANSFER_CHECKED;
  if (!checked && data[0] !== TRANSFER) return undefined;
  const source = accounts[0];
  const destination = accounts[checked ? 2 : 1];
  if (data.length < (checked ? 10 : 9) || source === undefined || destination === undefined) return undefined;
  return { source, destination, amount: data.readBigUInt64LE(1) };
}

/**
 * Reads a Batch: one instruction that holds several, without leaving inner instructions behind. Each is
 * u8 number of accounts, u8 length of data, data; the accounts of all follow each other. Batches do not nest.
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
