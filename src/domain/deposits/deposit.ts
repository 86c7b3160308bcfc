import type { MicroUsd } from "../core/money.ts";

/** A transfer to the treasury that an account has announced, and what the books say of it. */
export interface Deposit {
  /** `dep_…` */
  readonly depositId: string;
  readonly accountId: string;
  /** What was to be sent, micro-USD. */
  readonly amount: MicroUsd;
  /** Address that the transfer names so that it is found by it, base58. */
  readonly reference: string;
  /** The transaction that was last seen for it, base58. */
  readonly txSignature: string | undefined;
  readonly createdAt: Date;
  /** The sum of all that was credited for it, micro-USD. */
  readonly credited: MicroUsd;
  /** When the first of that was credited, and of which transaction. */
  readonly creditedAt: Date | undefined;
  readonly creditedBy: string | undefined;
}

/** How sure the cluster is of a transaction: one node has it, the cluster has voted for it, it can no longer be forked away. */
export type Stage = "seen" | "confirmed" | "finalized";

/** A transaction that was found for a deposit. */
export interface Candidate {
  /** Base58. */
  readonly txSignature: string;
  readonly stage: Stage;
  /** Why it failed on the chain; undefined: it did not. */
  readonly failure: string | undefined;
}

/** What a transaction did to the treasury, and the one memo of ours that it carries. */
export interface TransactionEffect {
  /** Micro-USD. */
  readonly change: MicroUsd;
  readonly memo: string | undefined;
}

/** What a candidate is to its deposit. */
export type DepositMatch = Candidate & {
  /** `pays`: it carries the deposit's memo. `stray`: it pays the treasury with another memo, or none. `failed`: it moved nothing. */
  readonly kind: "pays" | "stray" | "failed";
  /** Of a stray: whether its memo names something else of ours, which has the money. */
  readonly elsewhere?: boolean;
};

/**
 * Judges a candidate. A reference is no secret once it is on the chain, so that a transaction which merely names it says nothing: it
 * counts when it carries the deposit's memo, or pays the treasury.
 * @param reading undefined: no node has told it yet
 * @param sent whether we sent it ourselves for this deposit, so that its memo is known
 * @returns undefined for what is nothing to the deposit
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

/** The one of several that tells most: one that pays before one that does not, then the surer one. Of equals the first. */
export function bestMatch(sightings: readonly DepositMatch[]): DepositMatch | undefined {
  const rank = ({ kind, stage }: DepositMatch) => KINDS.indexOf(kind) * STAGES.length + STAGES.indexOf(stage);
  return sightings.reduce<DepositMatch | undefined>(
    (best, sighting) => (best && rank(best) >= rank(sighting) ? best : sighting),
    undefined,
  );
}

/** How far a deposit has come. `unassigned`: its transfer lies with the operator, or was credited elsewhere. */
export type DepositState = "waiting" | Stage | "credited" | "failed" | "unassigned";

/** What is told of a deposit. */
export interface DepositStatus {
  readonly state: DepositState;
  readonly txSignature: string | undefined;
  /** Why it is not going to be credited; undefined while it is. */
  readonly failure: string | undefined;
}

/**
 * How a deposit stands. Only the books say that it is credited, whatever was seen.
 * @param sighting null: the chain was looked at and shows nothing; undefined: it was not looked at
 */
export function depositStatus(deposit: Deposit, sighting: DepositMatch | null | undefined): DepositStatus {
  const { credited, creditedBy, txSignature } = deposit;
  if (credited > 0n) return { state: "credited", txSignature: creditedBy, failure: undefined };
  if (sighting === null) return { state: "waiting", txSignature, failure: undefined };
  if (!sighting)
    return { state: txSignature === undefined ? "waiting" : "seen", txSignature, failure: undefined };
  const told = { txSignature: sighting.txSignature };
  switch (sighting.kind) {
    case "pays":
      return { ...told, state: sighting.stage, failure: undefined };
    case "failed":
      return { ...told, state: "failed", failure: sighting.failure };
    case "stray":
      return {
        ...told,
        state: "unassigned",
        failure: sighting.elsewhere === true ? CREDITED_ELSEWHERE : NOT_NAMED,
      };
  }
}

const NOT_NAMED =
  "the transfer reached the treasury without the memo of this deposit, or with more than one of ours; whose it is only the operator can decide: tell them the transaction's signature. It is not lost";
const CREDITED_ELSEWHERE =
  "the transfer's memo names another deposit or a quote, and it is credited to the account of that one";
