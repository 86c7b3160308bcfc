import { ToolgateError } from "../../domain/core/errors.ts";

/** FORBIDDEN for a wallet without an account. */
export function noAccount(wallet: string): ToolgateError {
  return new ToolgateError(
    "FORBIDDEN",
    `wallet ${wallet} has no account; its first payment at /x402/{tool} creates one`,
  );
}
