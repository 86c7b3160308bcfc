import {
  bestOf,
  sightingOf,
  type Candidate,
  type CandidateReading,
  type Deposit,
  type Sighting,
} from "../domain/deposit.ts";
import { Lru } from "../domain/lru.ts";
import { depositMemo } from "../domain/memo.ts";
import type { DepositChain } from "./deposit-ports.ts";

/** What a look needs. */
export interface LookDeps {
  readonly chain: DepositChain;
  readonly memoPrefix: string;
  readonly readings: Readings;
}

/** What transactions did, by their signatures; it does not change. */
export type Readings = Lru<string, CandidateReading>;

/** How many transactions are remembered: each is some two hundred bytes. */
const REMEMBERED = 2_000;

export function newReadings(): Readings {
  return new Lru(REMEMBERED);
}

/**
 * Looks for a deposit's transaction: the one that was seen before, and where that pays nothing those that name the reference.
 * @returns null: nothing is there
 * @throws ToolgateError UNAVAILABLE when the network cannot tell, the signal's reason when it aborts
 */
export async function lookAtDeposit(
  deps: LookDeps,
  deposit: Deposit,
  signal: AbortSignal,
): Promise<Sighting | null> {
  const { depositId, txSignature, reference } = deposit;
  const memo = depositMemo(depositId, deps.memoPrefix);
  const judge = async (candidate: Candidate, sent: boolean) =>
    sightingOf(candidate, await readingOf(deps, candidate, signal), { memo, sent });

  const known = txSignature === undefined ? undefined : await deps.chain.standing(txSignature, signal);
  const first = known && (await judge(known, true));
  if (first?.kind === "pays") return first;
  const candidates = await deps.chain.naming(reference, signal);
  const others = candidates.filter((candidate) => candidate.txSignature !== txSignature);
  const sightings = await Promise.all(others.map((candidate) => judge(candidate, false)));
  return bestOf([first, ...sightings].filter((sighting) => sighting !== undefined)) ?? null;
}

async function readingOf(
  { chain, readings }: LookDeps,
  { txSignature, stage }: Candidate,
  signal: AbortSignal,
): Promise<CandidateReading | undefined> {
  // Nodes tell transactions once the cluster has voted for them.
  if (stage === "seen") return undefined;
  const known = readings.get(txSignature);
  if (known) return known;
  const reading = await chain.reading(txSignature, signal);
  if (!reading) return undefined;
  const { change, memo } = reading;
  // On another fork a transaction can fail, or succeed.
  if (change > 0n || stage === "finalized") readings.set(txSignature, { change, memo });
  return reading;
}
