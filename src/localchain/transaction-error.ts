import type { FailedTransactionMetadata } from "litesvm";

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

/** Texts of the errors that clients meet most; the others are their name in words. */
const TEXTS: Readonly<Record<string, string>> = {
  AccountNotFound: "Attempt to debit an account but found no record of a prior credit.",
  ProgramAccountNotFound: "Attempt to load a program that does not exist",
  InsufficientFundsForFee: "Insufficient funds for fee",
  InvalidAccountForFee: "This account may not be used to pay transaction fees",
  AlreadyProcessed: "This transaction has already been processed",
  BlockhashNotFound: "Blockhash not found",
  SignatureFailure: "Transaction did not pass signature verification",
  SanitizeFailure: "Transaction failed to sanitize accounts offsets correctly",
  AddressLookupTableNotFound: "Transaction loads an address table account that doesn't exist",
  InsufficientFunds: "insufficient funds for instruction",
  InvalidAccountData: "invalid account data for instruction",
  InvalidInstructionData: "invalid instruction data",
  MissingRequiredSignature: "missing required signature for instruction",
  NotEnoughAccountKeys: "insufficient account keys for instruction",
};

function sentence(name: string): string {
  return (
    TEXTS[name] ??
    name.replace(/([a-z])([A-Z])/g, (_match, end: string, start: string) => `${end} ${start.toLowerCase()}`)
  );
}

/** Transaction errors without details, in the order in which LiteSVM numbers them. */
const TRANSACTION_ERRORS = `
  AccountInUse AccountLoadedTwice AccountNotFound ProgramAccountNotFound InsufficientFundsForFee
  InvalidAccountForFee AlreadyProcessed BlockhashNotFound CallChainTooDeep MissingSignatureForFee
  InvalidAccountIndex SignatureFailure InvalidProgramForExecution SanitizeFailure ClusterMaintenance
  AccountBorrowOutstanding WouldExceedMaxBlockCostLimit UnsupportedVersion InvalidWritableAccount
  WouldExceedMaxAccountCostLimit WouldExceedAccountDataBlockLimit TooManyAccountLocks
  AddressLookupTableNotFound InvalidAddressLookupTableOwner InvalidAddressLookupTableData
  InvalidAddressLookupTableIndex InvalidRentPayingAccount WouldExceedMaxVoteCostLimit
  WouldExceedAccountDataTotalLimit MaxLoadedAccountsDataSizeExceeded ResanitizationNeeded
  InvalidLoadedAccountsDataSizeLimit UnbalancedTransaction ProgramCacheHitMaxLimit CommitCancelled
`
  .trim()
  .split(/\s+/);

/** Instruction errors without details, in the order in which LiteSVM numbers them. */
const INSTRUCTION_ERRORS = `
  GenericError InvalidArgument InvalidInstructionData InvalidAccountData AccountDataTooSmall
  InsufficientFunds IncorrectProgramId MissingRequiredSignature AccountAlreadyInitialized
  UninitializedAccount UnbalancedInstruction ModifiedProgramId ExternalAccountLamportSpend
  ExternalAccountDataModified ReadonlyLamportChange ReadonlyDataModified DuplicateAccountIndex
  ExecutableModified RentEpochModified NotEnoughAccountKeys AccountDataSizeChanged AccountNotExecutable
  AccountBorrowFailed AccountBorrowOutstanding DuplicateAccountOutOfSync InvalidError
  ExecutableDataModified ExecutableLamportChange ExecutableAccountNotRentExempt UnsupportedProgramId
  CallDepth MissingAccount ReentrancyNotAllowed MaxSeedLengthExceeded InvalidSeeds InvalidRealloc
  ComputationalBudgetExceeded PrivilegeEscalation ProgramEnvironmentSetupFailure ProgramFailedToComplete
  ProgramFailedToCompile Immutable IncorrectAuthority AccountNotRentExempt InvalidAccountOwner
  ArithmeticOverflow UnsupportedSysvar IllegalOwner MaxAccountsDataAllocationsExceeded
  MaxAccountsExceeded MaxInstructionTraceLengthExceeded BuiltinProgramsMustConsumeComputeUnits
  BorshIoError
`
  .trim()
  .split(/\s+/);
