import { ToolgateError } from "../core/errors.ts";

/** All reasons to refuse a transaction. The gasless docs explain them in this order. */
export const RELAY_REFUSALS = {
  // Cannot be parsed.
  TRANSACTION_TOO_LARGE: "transaction_too_large",
  TRANSACTION_MALFORMED: "transaction_malformed",
  TRANSACTION_VERSION: "transaction_version",
  // Rules for the transaction alone.
  LOOKUP_TABLES: "lookup_tables",
  SIGNER_COUNT: "signer_count",
  FEE_PAYER_USED: "fee_payer_used",
  ACCOUNT_UNUSED: "account_unused",
  GUARD_COUNT: "guard_count",
  GUARD_KIND: "guard_kind",
  INSTRUCTION_PROGRAM: "instruction_program",
  INSTRUCTION_LAYOUT: "instruction_layout",
  INSTRUCTION_DATA: "instruction_data",
  INSTRUCTION_ACCOUNTS: "instruction_accounts",
  COMPUTE_LIMIT: "compute_limit",
  COMPUTE_PRICE: "compute_price",
  MEMO_TEXT: "memo_text",
  PAYER_SIGNATURE: "payer_signature",
  TRANSFER_KIND: "transfer_kind",
  TRANSFER_MINT: "transfer_mint",
  TRANSFER_DECIMALS: "transfer_decimals",
  TRANSFER_DESTINATION: "transfer_destination",
  TRANSFER_AUTHORITY: "transfer_authority",
  PAYER_IS_TREASURY: "payer_is_treasury",
  TRANSFER_SOURCE: "transfer_source",
  GUARD_ACCOUNT: "guard_account",
  FEE_PAYER: "fee_payer",
  // Rules that need the quote.
  QUOTE_TOO_CHEAP: "quote_too_cheap",
  TRANSFER_AMOUNT: "transfer_amount",
  MEMO_QUOTE: "memo_quote",
  // Depends on the network and on other claims.
  BLOCKHASH_EXPIRED: "blockhash_expired",
  BLOCKHASH_TOO_OLD: "blockhash_too_old",
  QUOTE_TAKEN: "quote_taken",
  SIMULATION_FAILED: "simulation_failed",
  FAILED_ON_CHAIN: "failed_on_chain",
  NEVER_LANDED: "never_landed",
} as const;

export type RelayRefusal = (typeof RELAY_REFUSALS)[keyof typeof RELAY_REFUSALS];

/** INVALID_PAYMENT with the reason in its message. @param sentence names the rule and what to do */
export function relayRefused(reason: RelayRefusal, sentence: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed (${reason}): ${sentence}`);
}

/** INVALID_PAYMENT 400: not a transaction, so nothing was looked up. */
export function unreadableTransaction(reason: RelayRefusal, sentence: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed (${reason}): ${sentence}`, {
    status: 400,
  });
}
