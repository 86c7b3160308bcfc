import type { FailedTransactionMetadata } from "litesvm";
import { INSTRUCTION_ERRORS, TRANSACTION_ERRORS } from "./transaction-error-names.ts";
import { sentence } from "./transaction-error-text.ts";

/** Error of an instruction: a named error, or a number defined by the program. */
type InstructionError = string | { readonly Custom: number };

/**
 * A transaction error in the form validators write it: `"BlockhashNotFound"` or
 * `{"InstructionError":[0,{"Custom":1}]}`.
 */
export type TransactionError =
  | string
  | { readonly InstructionError: readonly [index: number, cause: InstructionError] }
  | { readonly DuplicateInstruction: number }
  | { readonly InsufficientFundsForRent: { readonly account_index: number } }
  | { readonly ProgramExecutionTemporarilyRestricted: { readonly account_index: number } };

type LiteSvmError = ReturnType<FailedTransactionMetadata["err"]>;

/** Turns LiteSVM's numbered error into the validators' JSON form. */
export function transactionError(error: LiteSvmError): TransactionError {
  if (typeof error === "number") return TRANSACTION_ERRORS[error] ?? "SanitizeFailure";
  if ("err" in error) return { InstructionError: [error.index, instructionError(error.err())] };
  if ("index" in error) return { DuplicateInstruction: error.index };
  const account = { account_index: error.accountIndex };
  return error.constructor.name.endsWith("InsufficientFundsForRent")
    ? { InsufficientFundsForRent: account }
    : { ProgramExecutionTemporarilyRestricted: account };
}

function instructionError(error: unknown): InstructionError {
  if (typeof error === "number") return INSTRUCTION_ERRORS[error] ?? "GenericError";
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "number") {
    return { Custom: error.code };
  }
  return "BorshIoError";
}

/** The text of a validator's error messages. */
export function describeTransactionError(error: TransactionError): string {
  if (typeof error === "string") return sentence(error);
  if (!("InstructionError" in error)) return sentence(Object.keys(error).join());
  const [index, cause] = error.InstructionError;
  const reason =
    typeof cause === "string" ? sentence(cause) : `custom program error: 0x${cause.Custom.toString(16)}`;
  return `Error processing Instruction ${index}: ${reason}`;
}
