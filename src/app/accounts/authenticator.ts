import type { Caller } from "../../domain/accounts/caller.ts";

/**
 * Verifies API keys. Results may be cached, but a revoked key is refused within one second on every
 * instance.
 */
export interface Authenticator {
  /**
   * Returns the key's caller, synchronously if cached; undefined if forged, unknown, revoked or expired.
   */
  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined>;
}
