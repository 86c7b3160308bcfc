import { base58 } from "@scure/base";
import type { CompiledInstruction } from "./compiled-instruction.ts";
import type { Json } from "./json.ts";
import { instructionJson, parsedInstructionJson } from "./instruction-json.ts";
import { uiTokenAmount } from "./token-account.ts";
import type { TokenBalance } from "./token-balances.ts";
import type { TransactionRecord } from "./transaction-record.ts";
import { transactionConfig } from "./transaction-config.ts";
import { lookupTables } from "./wire-transaction.ts";

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
