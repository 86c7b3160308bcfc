import type { MicroUsd } from "../../domain/core/money.ts";

/** Asked: no decision yet. Allowed: the call may run once. Refused: it is not asked for again. */
export type ApprovalState = "asked" | "allowed" | "refused";

/** A call of an application that a limit of its own refuses. */
export interface RefusedCall {
  readonly keyId: string;
  readonly tool: string;
  /** The parameters as they are shown. */
  readonly params: string;
  /** Micro-USD: the most that may be charged for it. */
  readonly price: MicroUsd;
  /** 32 bytes, see domain/calls/call-context.ts. */
  readonly fingerprint: Buffer;
}

/** What the account holder decides on. */
export interface Approval extends Omit<RefusedCall, "fingerprint"> {
  readonly state: ApprovalState;
  readonly expiresAt: Date;
}

/** Requests of applications for one call beyond their limits. Each ends by itself after 15 minutes. */
export interface Approvals {
  /**
   * Stores a request, or finds the open one of the same call.
   * @returns undefined: the application has too many open ones
   */
  ask(call: RefusedCall): Promise<{ id: string; state: ApprovalState; isNew: boolean } | undefined>;
  /** Returns a request of the account, under its identifier, which only its address has. */
  find(id: string, accountId: string): Promise<Approval | undefined>;
  /** @returns false if it was decided before, or is unknown to the account */
  decide(id: string, accountId: string, decision: Exclude<ApprovalState, "asked">): Promise<boolean>;
  /** Deletes a request of the account whose call needs no permission any more. */
  withdraw(id: string, accountId: string): Promise<void>;
  /** Waits for a decision, without a connection to the database. @returns false after `ms`, or if aborted */
  settled(id: string, ms: number, signal: AbortSignal): Promise<boolean>;
}
