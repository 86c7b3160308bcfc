import type { MicroUsd } from "../../domain/core/money.ts";

/** What an account takes along. */
export interface AccountContents {
  /** Settings, keys, their limits: JSON that only the cells' ledgers read. */
  readonly rows: string;
  readonly webhooks: readonly MovedWebhook[];
}

/** A webhook endpoint with its secrets, which each cell seals with its own keys. */
export interface MovedWebhook {
  /** A uuid, the same in both cells. */
  readonly id: string;
  readonly url: string;
  readonly types: readonly string[];
  /** Why nothing is sent; undefined: it is enabled. */
  readonly disabled: string | undefined;
  readonly secret: string;
  /** Signs too until then. */
  readonly oldSecret: { readonly secret: string; readonly until: Date } | undefined;
  readonly createdAt: Date;
}

/** An account as one cell knows it. */
export interface CellAccount {
  readonly contents: AccountContents;
  /** The cell that it has moved to; undefined: it is here. */
  readonly movedTo: number | undefined;
}

/** What left a cell and has to arrive in another. */
export interface Departure {
  /** A uuid: the reference of the clearing entry in both cells. */
  readonly reference: string;
  /** Micro-USD; negative for a debt. */
  readonly amount: MicroUsd;
  /** The account had moved before: this is money that reached it since. */
  readonly rest: boolean;
  readonly contents: AccountContents;
}

export type DepartResult =
  | ({ readonly kind: "departed" } & Departure)
  /** It has moved before, and nothing has reached it since. */
  | { readonly kind: "nothing" }
  /** There is no such account here. */
  | { readonly kind: "unknown" }
  /** Calls could start. */
  | { readonly kind: "not_frozen" }
  /** Calls are running. */
  | { readonly kind: "running" }
  /** It moves, or has moved, to another cell than the one asked for. */
  | { readonly kind: "elsewhere"; readonly cell: number };

/** Stored answers in the order of their keys. */
export interface AnswerPage {
  /** JSON array that only the cells' ledgers read. */
  readonly answers: string;
  /** Key to continue after; undefined at the end. */
  readonly next: string | undefined;
}

/** One cell's part in moves of accounts. Everything may be repeated after a lost response. */
export interface AccountMoves {
  /** Number of the cell. */
  readonly cell: number;
  /** Returns undefined for an unknown account. */
  find(accountId: string): Promise<CellAccount | undefined>;
  /**
   * Stops new calls of an account, or lets them start again.
   * @returns false for an unknown account, and for one that has moved
   */
  freeze(accountId: string, frozen: boolean): Promise<boolean>;
  /** Books out what the account has, and from then on refuses its keys. */
  depart(accountId: string, to: number, newReference: string): Promise<DepartResult>;
  /** Returns the first run whose answer may still change: stored ones of runs before it are final. */
  firstOpenRun(accountId: string): Promise<string>;
  /**
   * Stored answers of calls that may still be repeated.
   * @param firstRun the first run whose answer is wanted; undefined: all
   */
  answers(accountId: string, since: string, firstRun?: string): Promise<AnswerPage>;
  addAnswers(contents: AccountContents, answers: string): Promise<void>;
  /**
   * Books in what left another cell, once, and opens the account.
   * @returns the account, which the wallet may have had here before
   * @throws ToolgateError INVALID_REQUEST if this cell cannot take it
   */
  arrive(departure: Departure, from: number): Promise<string>;
  /** Tries {@link arrive} and undoes it. @throws what that throws */
  rehearse(contents: AccountContents, from: number): Promise<void>;
  /** Notes that the other cell has booked a departure. */
  noteArrival(reference: string, accountId: string): Promise<void>;
  /** Accounts that have moved, and have got money since or have not arrived. */
  unfinished(): Promise<{ readonly accountId: string; readonly to: number }[]>;
}
