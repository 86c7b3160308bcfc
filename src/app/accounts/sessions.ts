import type { Caller } from "../../domain/accounts/caller.ts";

/** A signed-in session. */
export interface Session {
  /** `ses_…` */
  sessionId: string;
  accountId: string;
  /** The account's wallet. */
  wallet: string;
  operator: boolean;
  /** Why the account is blocked; undefined when it is not. */
  blockedReason: string | undefined;
  createdAt: Date;
  /** Accurate to the minute. */
  lastUsedAt: Date;
  /** Latest expiry; idle sessions expire earlier. */
  expiresAt: Date;
  /** Client address at sign-in. */
  address: string;
  /** User agent at sign-in. */
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
