import type { MicroUsd } from "../../domain/core/money.ts";
import { ToolgateError } from "../../domain/core/errors.ts";

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
  readonly verified: boolean;
  readonly secret: string;
  /** Signs too until then. */
  readonly oldSecret: { readonly secret: string; readonly until: Date } | undefined;
  readonly createdAt: Date;
}

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

interface MoveDeps {
  readonly from: AccountMoves;
  readonly to: AccountMoves;
  /** Returns a new uuid. */
  readonly newReference: () => string;
  /** Waits before running calls are counted again. */
  readonly pause: () => Promise<void>;
  /** Whether to wait longer for running calls. */
  readonly mayWait: () => boolean;
}

export interface MovedAccount {
  readonly accountId: string;
  /** What arrived now, micro-USD. */
  readonly amount: MicroUsd;
}

/**
 * Moves an account to another cell: copies stored answers, stops its calls, waits for running ones, books its
 * balance out, copies the answers since, books it in. Repeated after a crash, it continues where it ended;
 * repeated later, it sends what has reached the account in its former cell since.
 * @returns undefined if there was nothing to do
 * @throws ToolgateError
 */
export async function moveAccount(deps: MoveDeps, accountId: string): Promise<MovedAccount | undefined> {
  const { from, to } = deps;
  const known = await from.find(accountId);
  if (!known) throw new ToolgateError("NOT_FOUND", `cell ${from.cell} has no account ${accountId}`);
  let firstRun: string | undefined;
  if (known.movedTo === undefined) {
    // What the other cell would refuse must not leave this one.
    await to.rehearse(known.contents, from.cell);
    // Most answers are copied while calls go on.
    firstRun = await from.firstOpenRun(accountId);
    await copyAnswers(deps, accountId, known.contents);
    await from.freeze(accountId, true);
  }
  let moved: MovedAccount | undefined;
  for (;;) {
    const departure = await departed(deps, accountId);
    if (!departure) return moved;
    if (!departure.rest) await copyAnswers(deps, accountId, departure.contents, firstRun);
    const arrivedAs = await to.arrive(departure, from.cell);
    await from.noteArrival(departure.reference, arrivedAs);
    moved = { accountId: arrivedAs, amount: (moved?.amount ?? 0n) + departure.amount };
  }
}

/** @returns undefined if the account has moved and nothing is left */
async function departed(deps: MoveDeps, accountId: string): Promise<Departure | undefined> {
  const { from, to, newReference, pause, mayWait } = deps;
  for (;;) {
    const result = await from.depart(accountId, to.cell, newReference());
    switch (result.kind) {
      case "departed":
        return result;
      case "nothing":
        return undefined;
      case "running":
        if (!mayWait())
          throw new ToolgateError(
            "UNAVAILABLE",
            `calls of ${accountId} are still running; it stays frozen: repeat this, or cancel the move`,
          );
        await pause();
        break;
      case "elsewhere":
        throw new ToolgateError(
          "INVALID_REQUEST",
          `account: ${accountId} has left cell ${from.cell} for cell ${result.cell}; move it there first`,
        );
      default:
        throw new ToolgateError("INVALID_REQUEST", `account: ${accountId} is not frozen any more; repeat`);
    }
  }
}

async function copyAnswers(
  { from, to }: MoveDeps,
  accountId: string,
  contents: AccountContents,
  firstRun?: string,
): Promise<void> {
  for (let since: string | undefined = ""; since !== undefined;) {
    const { answers, next }: Awaited<ReturnType<AccountMoves["answers"]>> = await from.answers(
      accountId,
      since,
      firstRun,
    );
    await to.addAnswers(contents, answers);
    since = next;
  }
}
