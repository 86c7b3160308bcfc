import type { Caller } from "../../domain/accounts/caller.ts";

/** A person who has signed in. */
export interface Session {
  /** `ses_…` */
  sessionId: string;
  accountId: string;
  /** The account's wallet. */
  wallet: string;
  operator: boolean;
  createdAt: Date;
  /** To the minute. */
  lastUsedAt: Date;
  /** When it ends at the latest; without use it ends earlier. */
  expiresAt: Date;
  /** The client's address when it began. */
  address: string;
  /** What it began with. */
  userAgent: string;
}

/** A session's caller: its `keyId` is the session. It has every scope. */
export interface SignedIn {
  session: Session;
  caller: Caller;
}

/** Sessions of the console. A token is known by its hash alone; one that ended is forgotten. */
export interface Sessions {
  /** Begins a session with a token of its own; an account that has as many as it may loses its oldest. */
  begin(start: {
    accountId: string;
    address: string;
    userAgent: string;
  }): Promise<{ session: Session; token: string }>;
  /** Whose token it is, at this moment, on whichever instance the session began or was ended. Being looked for is being used. */
  find(token: string): Promise<SignedIn | undefined>;
  /** Those of an account that are good, newest first. */
  list(accountId: string): Promise<Session[]>;
  /** @returns whether it was one of the account's */
  end(accountId: string, sessionId: string): Promise<boolean>;
  /** @returns how many there were */
  endAll(accountId: string): Promise<number>;
}
