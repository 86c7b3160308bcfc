import { z } from "zod";
import { base58 } from "@scure/base";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";

/** Index of an account among the transaction's keys. */
const accountIndex = z.int().nonnegative();
/** A token amount in base units: u64 as a decimal string, since JSON numbers lose digits above 2^53. */
const tokenAmount = z.string().regex(/^(?:0|[1-9]\d{0,19})$/);

/** End of the year 9999, the last time that the database can store. */
const LAST_SECOND = 253_402_300_799;

/** Seconds since the Unix epoch. */
export const blockTimeSchema = z.int().nonnegative().max(LAST_SECOND);
/** Null means success, so it must be present: a missing member proves nothing. */
export const transactionErrorSchema = z.union([z.null(), z.string(), z.record(z.string(), z.unknown())]);

const instruction = z.object({
  programIdIndex: accountIndex,
  accounts: z.array(accountIndex),
  /** Base58. */
  data: z.string(),
});

const tokenBalance = z.object({
  accountIndex,
  mint: z.string(),
  owner: z.string().optional(),
  programId: z.string().optional(),
  uiTokenAmount: z.object({ amount: tokenAmount }),
});

const message = z.object({
  accountKeys: z.array(z.string()).min(1),
  instructions: z.array(instruction),
  addressTableLookups: z
    .array(z.object({ writableIndexes: z.array(z.int()), readonlyIndexes: z.array(z.int()) }))
    .nullish(),
});

const meta = z.object({
  err: transactionErrorSchema,
  innerInstructions: z.array(z.object({ instructions: z.array(instruction) })).nullish(),
  preTokenBalances: z.array(tokenBalance).nullish(),
  postTokenBalances: z.array(tokenBalance).nullish(),
  loadedAddresses: z.object({ writable: z.array(z.string()), readonly: z.array(z.string()) }).nullish(),
});

/**
 * The parts of a `getTransaction` result (`encoding: "json"`) that serve as evidence. Versions: legacy, 0 and
 * 1.
 */
export const transactionSchema = z.object({
  slot: z.int().nonnegative(),
  /** Null if the node does not find it. */
  blockTime: blockTimeSchema.nullable(),
  version: z.union([z.literal("legacy"), z.literal(0), z.literal(1)]).optional(),
  transaction: z.object({ signatures: z.array(z.string()).min(1), message }),
  meta: meta.nullable(),
});

export type TransactionJson = z.infer<typeof transactionSchema>;
/** Its outcome. */
export type TransactionMeta = z.infer<typeof meta>;
/** One instruction, top-level or inner. */
export type InstructionJson = z.infer<typeof instruction>;
/** One token account's balance before or after the transaction. */
export type TokenBalanceJson = z.infer<typeof tokenBalance>;

/** The accounts of a transaction, in the order that instructions and balances refer to. */
export class AccountKeys {
  readonly #keys: readonly string[];

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  /** @throws MalformedAnswer for an index without an account */
  at(index: number): string {
    const key = this.#keys[index];
    if (key === undefined)
      throw new MalformedAnswer(`account ${index} is not among the transaction's ${this.#keys.length}`);
    return key;
  }

  /**
   * Returns the index of an account; undefined if the transaction does not name it.
   * @throws MalformedAnswer if it names it twice, which the chain forbids
   */
  find(key: string): number | undefined {
    const index = this.#keys.indexOf(key);
    if (index !== this.#keys.lastIndexOf(key)) throw new MalformedAnswer("an account is listed twice");
    return index === -1 ? undefined : index;
  }
}

/**
 * Lists the accounts: those of the message, then those looked up in address tables, writable ones first.
 * @throws MalformedAnswer if the number of looked-up addresses is wrong, since every later index would be off
 */
export function accountKeysOf(
  { transaction: { message } }: TransactionJson,
  meta: TransactionMeta,
): AccountKeys {
  const lookups = message.addressTableLookups ?? [];
  const writable = meta.loadedAddresses?.writable ?? [];
  const readonly = meta.loadedAddresses?.readonly ?? [];
  const asked = { writable: 0, readonly: 0 };
  for (const lookup of lookups) {
    asked.writable += lookup.writableIndexes.length;
    asked.readonly += lookup.readonlyIndexes.length;
  }
  if (asked.writable !== writable.length || asked.readonly !== readonly.length) {
    throw new MalformedAnswer("loadedAddresses does not match the message's address table lookups");
  }
  return new AccountKeys([...message.accountKeys, ...writable, ...readonly]);
}

/** Decodes an instruction's data. @throws MalformedAnswer unless it is base58 */
export function instructionData(text: string): Uint8Array {
  try {
    return base58.decode(text);
  } catch {
    throw new MalformedAnswer("an instruction's data is not base58");
  }
}
