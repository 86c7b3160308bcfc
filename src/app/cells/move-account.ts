import { ToolgateError } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { AccountContents, AccountMoves, Departure } from "./account-moves.ts";

export interface MoveDeps {
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
  /** The account in its new cell. */
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
