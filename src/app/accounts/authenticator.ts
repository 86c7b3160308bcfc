import type { Caller, RateDecision } from "../../domain/accounts/caller.ts";

export type RatedCaller = Pick<Caller, "keyId" | "accountId" | "tier" | "accountTier">;

/** Token buckets, one per key and one per account, shared by all instances. */
export interface RateLimiter {
  /** Takes one token from the key and its account if both have one; synchronous if decided from memory. */
  take(caller: RatedCaller): RateDecision | Promise<RateDecision>;
}

/**
 * Verifies API keys. Results may be cached, but a revoked key is refused within one second on every instance.
 */
export interface Authenticator {
  /** Returns the key's caller, synchronously if cached; undefined if forged, unknown, revoked or expired. */
  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined>;
}

/** Keys without a secret, which are found by their hash. */
export interface GrantedKeys {
  /**
   * Returns the caller of a key; undefined if unknown, revoked or expired.
   * @param keyHash SHA-256, hex
   * @param isNew whether it was created just now: an earlier refusal then does not count
   */
  callerOf(keyHash: string, isNew?: boolean): Caller | undefined | Promise<Caller | undefined>;
}

export interface Session {
  /** `ses_…` */
  sessionId: string;
  accountId: string;
  wallet: string;
  operator: boolean;
  /** Why the account is blocked; undefined when it is not. */
  blockedReason: string | undefined;
  createdAt: Date;
  /** Accurate to the minute. */
  lastUsedAt: Date;
  /** Latest expiry; idle sessions expire earlier. */
  expiresAt: Date;
  address: string;
  userAgent: string;
}

/** A session with its caller, whose `keyId` is the session id and who has every scope. */
export interface SignedIn {
  session: Session;
  caller: Caller;
}

/** Console sessions. Tokens are stored as hashes only; ended sessions are deleted. */
export interface Sessions {
  /** Creates a session and its token. At the limit, the account's oldest session is ended. */
  create(start: {
    accountId: string;
    address: string;
    userAgent: string;
  }): Promise<{ session: Session; token: string }>;
  /** Returns the session of a token and marks it as used. */
  find(token: string): Promise<SignedIn | undefined>;
  /** Active sessions of an account, newest first. */
  list(accountId: string): Promise<Session[]>;
  /** @returns whether the account had such a session */
  end(accountId: string, sessionId: string): Promise<boolean>;
  /** @returns the number of sessions ended */
  endAll(accountId: string): Promise<number>;
}
