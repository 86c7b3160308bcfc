import { base58 } from "@scure/base";
import type { Address, V1CompiledTransactionMessage } from "@solana/kit";
import {
  MEMO_PROGRAM,
  MEMO_V1_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from "./accounts.ts";
import { lookupTables } from "./wire-transaction.ts";
import type { CompiledInstruction, TokenBalance, TransactionRecord } from "./wire-transaction.ts";
import type { Json } from "./json.ts";
import { uiTokenAmount } from "./token-account.ts";

/** An instruction as encoding `json` has it: indexes and base58 data. */
function instructionJson(instruction: CompiledInstruction): Json {
  return {
    accounts: instruction.accounts,
    data: base58.encode(Uint8Array.from(instruction.data)),
    programIdIndex: instruction.programIndex,
    stackHeight: instruction.stackHeight,
  };
}

/**
 * An instruction in the encoding `jsonParsed`. Memos, SOL transfers and token transfers are parsed; others
 * have the partially decoded form, as validators return for unknown programs.
 */
export function parsedInstructionJson(instruction: CompiledInstruction, keys: readonly Address[]): Json {
  const programId = keys[instruction.programIndex] ?? SYSTEM_PROGRAM;
  const accounts = instruction.accounts.map((index) => keys[index] ?? SYSTEM_PROGRAM);
  const { data, stackHeight } = instruction;
  const parsed = parse(programId, accounts, data);
  if (parsed !== undefined) return { ...parsed, programId, stackHeight };
  return { accounts, data: base58.encode(Uint8Array.from(data)), programId, stackHeight };
}

interface Parsed {
  readonly program: string;
  readonly parsed: Json;
  readonly [name: string]: Json;
}

function parse(program: Address, accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  switch (program) {
    case MEMO_PROGRAM:
    case MEMO_V1_PROGRAM:
      return { program: "spl-memo", parsed: new TextDecoder().decode(data) };
    case SYSTEM_PROGRAM:
      return parseSystem(accounts, data);
    case TOKEN_PROGRAM:
      return parseToken("spl-token", accounts, data);
    case TOKEN_2022_PROGRAM:
      return parseToken("spl-token-2022", accounts, data);
    default:
      return undefined;
  }
}

/** System program: Transfer is 2 (u32), then lamports (u64). */
function parseSystem(accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  const [source, destination] = accounts;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (source === undefined || destination === undefined) return undefined;
  if (data.length !== 12 || view.getUint32(0, true) !== 2) return undefined;
  const info = { source, destination, lamports: view.getBigUint64(4, true) };
  return { program: "system", parsed: { type: "transfer", info } };
}

/** SPL Token: Transfer is 3, then the amount (u64); TransferChecked is 12, then amount and decimals (u8). */
function parseToken(program: string, accounts: readonly Address[], data: Uint8Array): Parsed | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const amount = (): bigint => view.getBigUint64(1, true);
  if (data[0] === 3 && data.length === 9 && accounts.length >= 3) {
    const [source, destination, authority, ...signers] = accounts;
    const info = { source, destination, amount: amount().toString(), ...authorityJson(authority, signers) };
    return { program, parsed: { type: "transfer", info } };
  }
  if (data[0] === 12 && data.length === 10 && accounts.length >= 4) {
    const [source, mint, destination, authority, ...signers] = accounts;
    const tokenAmount = uiTokenAmount(amount(), data[9] ?? 0);
    const info = { source, mint, destination, tokenAmount, ...authorityJson(authority, signers) };
    return { program, parsed: { type: "transferChecked", info } };
  }
  return undefined;
}

/** One owner, or a multisig account followed by those who signed for it. */
function authorityJson(
  authority: Address | undefined,
  signers: readonly Address[],
): { readonly [name: string]: Json | undefined } {
  return signers.length === 0 ? { authority } : { multisigAuthority: authority, signers };
}

/** Bits of a v1 message's config mask; the priority fee is a u64 and uses two. */
const PRIORITY_FEE = 0b00011;
const COMPUTE_UNIT_LIMIT = 0b00100;
const LOADED_ACCOUNTS_DATA_SIZE_LIMIT = 0b01000;
const HEAP_SIZE = 0b10000;

/** The limits and the fee that a v1 message carries itself, in place of ComputeBudget instructions. */
type TransactionConfig = Readonly<
  Record<"computeUnitLimit" | "heapSize" | "loadedAccountsDataSizeLimit" | "priorityFee", bigint | null>
>;

/** Reads the config of a v1 message; its values follow each other in the order of their mask bits. */
export function transactionConfig(message: V1CompiledTransactionMessage): TransactionConfig {
  const values = message.configValues.values();
  const next = (bits: number): bigint | null => {
    if ((message.configMask & bits) === 0) return null;
    const { value } = values.next();
    return value === undefined ? null : BigInt(value.value);
  };
  const priorityFee = next(PRIORITY_FEE);
  const computeUnitLimit = next(COMPUTE_UNIT_LIMIT);
  const loadedAccountsDataSizeLimit = next(LOADED_ACCOUNTS_DATA_SIZE_LIMIT);
  const heapSize = next(HEAP_SIZE);
  return { computeUnitLimit, heapSize, loadedAccountsDataSizeLimit, priorityFee };
}

export const TRANSACTION_ENCODINGS = ["json", "jsonParsed", "base64", "base58"] as const;
type TransactionEncoding = (typeof TRANSACTION_ENCODINGS)[number] | "binary";

/**
 * The answer of `getTransaction` in one of its encodings; returns a version only to clients that support
 * versions.
 */
export function transactionJson(
  record: TransactionRecord,
  encoding: TransactionEncoding,
  withVersion: boolean,
): Json {
  return {
    blockTime: record.blockTime,
    meta: metaJson(record, encoding),
    slot: record.slot,
    transaction: contentJson(record, encoding),
    ...(withVersion && { version: record.transaction.message.version }),
  };
}

function contentJson(record: TransactionRecord, encoding: TransactionEncoding): Json {
  const { bytes, signatures } = record.transaction;
  if (encoding === "base64") return [Buffer.from(bytes).toString("base64"), "base64"];
  if (encoding === "base58") return [base58.encode(bytes), "base58"];
  if (encoding === "binary") return base58.encode(bytes);
  return { signatures, message: messageJson(record, encoding) };
}

function messageJson(record: TransactionRecord, encoding: "json" | "jsonParsed"): Json {
  const { message, instructions } = record.transaction;
  const { keys } = record;
  const shared = {
    recentBlockhash: message.lifetimeToken,
    instructions: instructions.map((each) => encodeInstruction(record, each, encoding)),
    ...(message.version === 0 && {
      addressTableLookups: lookupTables(message).map((lookup) => ({
        accountKey: lookup.lookupTableAddress,
        writableIndexes: lookup.writableIndexes,
        readonlyIndexes: lookup.readonlyIndexes,
      })),
    }),
    ...(message.version === 1 && { transactionConfig: transactionConfig(message) }),
  };
  if (encoding === "json") {
    return {
      accountKeys: message.staticAccounts,
      header: {
        numReadonlySignedAccounts: message.header.numReadonlySignerAccounts,
        numReadonlyUnsignedAccounts: message.header.numReadonlyNonSignerAccounts,
        numRequiredSignatures: message.header.numSignerAccounts,
      },
      ...shared,
    };
  }
  return {
    accountKeys: keys.all.map((pubkey, index) => ({
      pubkey,
      signer: keys.isSigner(index),
      source: index < message.staticAccounts.length ? "transaction" : "lookupTable",
      writable: keys.isWritable(index),
    })),
    ...shared,
  };
}

function metaJson(record: TransactionRecord, encoding: TransactionEncoding): Json {
  const inner = record.innerInstructions.flatMap((calls, index) =>
    calls.length === 0
      ? []
      : [{ index, instructions: calls.map((call) => encodeInstruction(record, call, encoding)) }],
  );
  const { loaded } = record.keys;
  return {
    computeUnitsConsumed: record.computeUnits,
    err: record.err,
    fee: record.fee,
    innerInstructions: inner,
    ...(encoding !== "jsonParsed" && {
      loadedAddresses: { readonly: loaded.readonly, writable: loaded.writable },
    }),
    logMessages: record.logs,
    postBalances: record.postBalances,
    postTokenBalances: record.postTokenBalances.map(tokenBalanceJson),
    preBalances: record.preBalances,
    preTokenBalances: record.preTokenBalances.map(tokenBalanceJson),
    rewards: [],
    status: statusJson(record),
    ...(record.returnData !== null && { returnData: returnDataJson(record.returnData) }),
  };
}

/** The older way to state success: `{"Ok":null}` or `{"Err":…}`. */
export function statusJson(record: TransactionRecord): Json {
  return record.err === null ? { Ok: null } : { Err: record.err };
}

export function returnDataJson(returned: NonNullable<TransactionRecord["returnData"]>): Json {
  return { data: [Buffer.from(returned.data).toString("base64"), "base64"], programId: returned.program };
}

function encodeInstruction(
  record: TransactionRecord,
  instruction: CompiledInstruction,
  encoding: TransactionEncoding,
): Json {
  return encoding === "jsonParsed"
    ? parsedInstructionJson(instruction, record.keys.all)
    : instructionJson(instruction);
}

function tokenBalanceJson(balance: TokenBalance): Json {
  return {
    accountIndex: balance.accountIndex,
    mint: balance.mint,
    owner: balance.owner,
    programId: balance.program,
    uiTokenAmount: uiTokenAmount(balance.amount, balance.decimals),
  };
}
