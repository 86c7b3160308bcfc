import type { MicroUsd } from "../core/money.ts";

/** An announced transfer to the treasury, and its credit in the ledger. */
export interface Deposit {
  /** `dep_…` */
  readonly depositId: string;
  readonly accountId: string;
  /** Requested amount, micro-USD. */
  readonly amount: MicroUsd;
  /** Address named by the transfer to make it searchable, base58. */
  readonly reference: string;
  /** Last transaction found for it, base58. */
  readonly txSignature: string | undefined;
  readonly createdAt: Date;
  /** When the account holder cancelled it. */
  readonly cancelledAt: Date | undefined;
  /** Total credited, micro-USD. */
  readonly credited: MicroUsd;
  readonly creditedAt: Date | undefined;
  readonly creditedBy: string | undefined;
}

/** Commitment of the cluster: known to a node; voted for; no longer droppable by a fork. */
export type Stage = "seen" | "confirmed" | "finalized";

export interface Candidate {
  /** Base58. */
  readonly txSignature: string;
  readonly stage: Stage;
  /** Failure on the chain; undefined on success. */
  readonly failure: string | undefined;
}

/** A transaction's effect on the treasury and its one memo in our format. */
export interface TransactionEffect {
  /** Micro-USD. */
  readonly change: MicroUsd;
  readonly memo: string | undefined;
}

export type DepositMatch = Candidate & {
  /**
   * `pays`: has the deposit's memo. `stray`: pays the treasury with another memo or none. `failed`: moved
   * nothing.
   */
  readonly kind: "pays" | "stray" | "failed";
  /** Whether the memo of a stray names another deposit or quote, which got the credit. */
  readonly elsewhere?: boolean;
};

/**
 * Matches a transaction with a deposit. References are public, so one that merely names the reference is
 * ignored: it counts if it has the deposit's memo or pays the treasury.
 * @param reading undefined while no node has it
 * @param sent whether we sent it for this deposit, so that its memo is known
 * @returns undefined for an unrelated transaction
 */
export function matchDeposit(
  candidate: Candidate,
  reading: TransactionEffect | undefined,
  { memo, sent }: { memo: string; sent: boolean },
): DepositMatch | undefined {
  if (!reading) return sent ? { ...candidate, kind: "pays", stage: "seen", failure: undefined } : undefined;
  const named = reading.memo === memo;
  if (candidate.failure !== undefined) return named ? { ...candidate, kind: "failed" } : undefined;
  if (reading.change <= 0n) return undefined;
  return named
    ? { ...candidate, kind: "pays" }
    : { ...candidate, kind: "stray", elsewhere: reading.memo !== undefined };
}

const KINDS = ["failed", "stray", "pays"] as const;
const STAGES = ["seen", "confirmed", "finalized"] as const;

/** Returns the match that pays, then the most committed one; the first of equals. */
export function bestMatch(sightings: readonly DepositMatch[]): DepositMatch | undefined {
  const rank = ({ kind, stage }: DepositMatch) => KINDS.indexOf(kind) * STAGES.length + STAGES.indexOf(stage);
  return sightings.reduce<DepositMatch | undefined>(
    (best, match) => (best && rank(best) >= rank(match) ? best : match),
    undefined,
  );
}

/** `unassigned`: the operator has the transfer, or it was credited elsewhere. */
export type DepositState = "waiting" | Stage | "credited" | "failed" | "unassigned" | "cancelled";

export interface DepositStatus {
  readonly state: DepositState;
  readonly txSignature: string | undefined;
  /** Why it will not be credited. */
  readonly failure: string | undefined;
}

/**
 * Returns the status of a deposit. Only the ledger decides that it is credited. A cancelled deposit that is
 * paid after all shows its payment.
 * @param match null: nothing on the chain; undefined: unknown
 */
export function depositStatus(deposit: Deposit, match: DepositMatch | null | undefined): DepositStatus {
  const status = paymentStatus(deposit, match);
  const isUnpaid = status.state === "waiting" || status.state === "failed";
  return isUnpaid && deposit.cancelledAt ? { ...status, state: "cancelled" } : status;
}

function paymentStatus(deposit: Deposit, match: DepositMatch | null | undefined): DepositStatus {
  const { credited, creditedBy, txSignature } = deposit;
  if (credited > 0n) return { state: "credited", txSignature: creditedBy, failure: undefined };
  if (match === null) return { state: "waiting", txSignature, failure: undefined };
  if (!match)
    return { state: txSignature === undefined ? "waiting" : "seen", txSignature, failure: undefined };
  const transaction = { txSignature: match.txSignature };
  switch (match.kind) {
    case "pays":
      return { ...transaction, state: match.stage, failure: undefined };
    case "failed":
      return { ...transaction, state: "failed", failure: match.failure };
    case "stray":
      return {
        ...transaction,
        state: "unassigned",
        failure: match.elsewhere === true ? CREDITED_ELSEWHERE : NOT_NAMED,
      };
  }
}

const NOT_NAMED =
  "the transfer does not carry this deposit's memo alone, so only the operator can assign it; send " +
  "them the transaction's signature. It is not lost";
const CREDITED_ELSEWHERE =
  "the transfer's memo names another deposit or a quote, and it is credited to the account of that one";
