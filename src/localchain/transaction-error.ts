import type { FailedTransactionMetadata } from "litesvm";
import { sentence } from "./transaction-error-text.ts";
import { INSTRUCTION_ERRORS, TRANSACTION_ERRORS } from "./transaction-error-names.ts";
import type { Json } from "./json.ts";

/** A transaction error in the form validators write it: `"BlockhashNotFound"` or `{"InstructionError":[0,{"Custom":1}]}`. */
export type TransactionError = string | { readonly [kind: string]: Json };

type LiteSvmError = ReturnType<FailedTransactionMetadata["err"]>;

/** Turns LiteSVM's numbered error into the validators' JSON form. */
export function transactionError(error: LiteSvmError): TransactionError {
  if (typeof error === "number") return TRANSACTION_ERRORS[error] ?? "SanitizeFailure";
  if ("err" in error) return { InstructionError: [error.index, instructionError(error.err())] };
  if ("accountIndex" in error) {
    const kind = error.constructor.name.replace(/^TransactionError/, "");
    return { [kind]: { account_index: error.accountIndex } };
  }
  return { DuplicateInstruction: error.index };
}

function instructionError(error: unknown): Json {
  if (typeof error === "number") return INSTRUCTION_ERRORS[error] ?? "GenericError";
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "number") {
    return { Custom: error.code };
  }
  return "BorshIoError";
}

/** The text a validator puts into error messages. */
export function describeTransactionError(error: TransactionError): string {
  if (typeof error === "string") return sentence(error);
  const detail = error["InstructionError"];
  if (!Array.isArray(detail)) return sentence(Object.keys(error)[0] ?? "");
  const [index, cause] = detail as readonly Json[];
  const reason =
    typeof cause === "object" && cause !== null && "Custom" in cause
      ? `custom program error: 0x${Number(cause.Custom).toString(16)}`
      : sentence(String(cause));
  return `Error processing Instruction ${String(index)}: ${reason}`;
}
