import { getAddressDecoder, type EncodedAccount } from "@solana/kit";
import { FailedTransactionMetadata, type LiteSVM, type TransactionMetadata } from "litesvm";
import { resolveAccountKeys, tokenBalances } from "./wire-transaction.ts";
import type {
  AccountKeys,
  WireTransaction,
  Execution,
  Simulation,
  TransactionRecord,
} from "./wire-transaction.ts";
import { readAccount, type AccountState, WELL_KNOWN_PROGRAMS } from "./accounts.ts";
import { transactionError, type TransactionError } from "./transaction-error.ts";

export type Position = Pick<TransactionRecord, "slot" | "blockTime" | "rooted">;

/** A transaction that never becomes part of the chain: it cannot pay its fee, or is not well-formed. */
export interface Refusal extends Execution {
  readonly err: TransactionError;
}

const addressDecoder = getAddressDecoder();

/**
 * Runs a transaction and stores everything `getTransaction` returns. LiteSVM reports no balances, so they
 * are read before and after; lamports are conserved, so the difference is the fee.
 */
export function execute(
  svm: LiteSVM,
  transaction: WireTransaction,
  position: Position,
): { readonly record: TransactionRecord } | { readonly refusal: Refusal } {
  const keys = resolveAccountKeys(svm, transaction);
  if (keys === undefined) return { refusal: refusal("AddressLookupTableNotFound") };
  const before = readAll(svm, transaction, keys);
  const preTokenBalances = tokenBalances(svm, before.accounts);
  const execution = run(() => svm.sendTransaction(transaction.kit));
  const after = readAll(svm, transaction, keys);
  const fee = sum(before.balances) - sum(after.balances);
  if (isRefused(execution) && fee === 0n) return { refusal: execution };
  const record: TransactionRecord = {
    ...execution,
    ...position,
    transaction,
    keys,
    fee,
    preBalances: before.balances,
    postBalances: after.balances,
    preTokenBalances,
    postTokenBalances: tokenBalances(svm, after.accounts),
    preImages: new Map(
      keys.all.flatMap((address, index) =>
        keys.isWritable(index) ? [[address, before.accounts[index] ?? null] as const] : [],
      ),
    ),
  };
  return { record };
}

/** Runs a transaction without keeping its effects. */
export function simulate(svm: LiteSVM, transaction: WireTransaction): Simulation {
  if (resolveAccountKeys(svm, transaction) === undefined) return refusal("AddressLookupTableNotFound");
  let accountsAfter: readonly EncodedAccount[] | undefined;
  const execution = run(() => {
    const outcome = svm.simulateTransaction(transaction.kit);
    if (outcome instanceof FailedTransactionMetadata) return outcome;
    accountsAfter = outcome.postAccounts();
    return outcome.meta();
  });
  return { ...execution, ...(accountsAfter !== undefined && { accountsAfter }) };
}

/** An execution that failed before it started. */
export function refusal(err: TransactionError): Refusal {
  return { err, logs: [], innerInstructions: [], computeUnits: 0n, returnData: null };
}

function isRefused(execution: Execution): execution is Refusal {
  return execution.err !== null;
}

function run(attempt: () => TransactionMetadata | FailedTransactionMetadata): Execution {
  let outcome: TransactionMetadata | FailedTransactionMetadata;
  try {
    outcome = attempt();
  } catch {
    return refusal("SignatureFailure"); // the only thing LiteSVM throws about: a signature is missing
  }
  const failure = outcome instanceof FailedTransactionMetadata ? outcome : null;
  const meta: TransactionMetadata = outcome instanceof FailedTransactionMetadata ? outcome.meta() : outcome;
  const returned = meta.returnData();
  return {
    err: failure === null ? null : transactionError(failure.err()),
    logs: meta.logs(),
    innerInstructions: meta.innerInstructions().map((calls) =>
      calls.map((call) => ({
        programIndex: call.instruction().programIdIndex(),
        accounts: [...call.instruction().accounts()],
        data: call.instruction().data(),
        stackHeight: call.stackHeight(),
      })),
    ),
    computeUnits: meta.computeUnitsConsumed(),
    returnData:
      returned.data().length === 0
        ? null
        : { program: addressDecoder.decode(returned.programId()), data: returned.data() },
  };
}

/** Programs are large and never hold tokens: only their balance is read. */
function readAll(
  svm: LiteSVM,
  transaction: WireTransaction,
  keys: AccountKeys,
): { readonly accounts: readonly AccountState[]; readonly balances: readonly bigint[] } {
  const invoked = new Set(transaction.instructions.map((instruction) => instruction.programIndex));
  const accounts: AccountState[] = [];
  const balances: bigint[] = [];
  for (const [index, address] of keys.all.entries()) {
    const isProgram = invoked.has(index) || WELL_KNOWN_PROGRAMS.has(address);
    const account = isProgram ? null : readAccount(svm, address);
    accounts.push(account);
    balances.push(isProgram ? (svm.getBalance(address) ?? 0n) : (account?.lamports ?? 0n));
  }
  return { accounts, balances };
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
