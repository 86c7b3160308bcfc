import type { Caller } from "../../domain/accounts/caller.ts";

/** Verifies API keys. Answers may come from memory, but a revoked key stops working within one second on every instance. */
export interface Authenticator {
  /** Who the key stands for, at once where memory decides; undefined: forged, mistyped, unknown, revoked or expired. */
  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined>;
}
