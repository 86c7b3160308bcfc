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

/** An error's name as a sentence. */
export function sentence(name: string): string {
  return (
    TEXTS[name] ??
    name.replace(/([a-z])([A-Z])/g, (_match, end: string, start: string) => `${end} ${start.toLowerCase()}`)
  );
}
