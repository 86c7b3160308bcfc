import { ToolgateClientError } from "../../errors.ts";

/**
 * Why there is no sign-in.
 * - `NO_OAUTH`: the gateway offers none at this address.
 * - `ACCESS_DENIED`: the person refused.
 * - `TIMED_OUT`: the person did not decide in time.
 * - `SIGNED_OUT`: there is none, or it was revoked; sign in again.
 * - `SIGN_IN_FAILED`: an answer is missing or invalid; try again.
 * - `SIGN_IN_STORE`: its file cannot be read or written.
 */
export type SignInProblem =
  | "NO_OAUTH"
  | "ACCESS_DENIED"
  | "TIMED_OUT"
  | "SIGNED_OUT"
  | "SIGN_IN_FAILED"
  | "SIGN_IN_STORE";

/** A sign-in failed; `code` is a {@link SignInProblem}. */
export class SignInError extends ToolgateClientError {
  declare readonly code: SignInProblem;

  constructor(code: SignInProblem, message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}

/** A server's text as it may be printed to a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "").slice(0, 200);
}
