import {
  bestMatch,
  matchDeposit,
  type Candidate,
  type TransactionEffect,
  type Deposit,
  type DepositMatch,
} from "../../domain/deposits/deposit.ts";
import { Lru } from "../../domain/core/lru.ts";
import { depositMemo } from "../../domain/payments/memo.ts";
import type { DepositChain } from "./deposit-chain.ts";

/** What a look needs. */
export interface PollDeps {
  readonly chain: DepositChain;
  readonly memoPrefix: string;
  readonly effects: EffectCache;
}

/** What transactions did, by their signatures; it does not change. */
export type EffectCache = Lru<string, TransactionEffect>;

/** How many transactions are remembered: each is some two hundred bytes. */
const REMEMBERED = 2_000;

export function newEffectCache(): EffectCache {
  return new Lru(REMEMBERED);
}

/**
 * Looks for a deposit's transaction: the one that was seen before, and where that pays nothing those that name the reference.
 * @returns null: nothing is there
 * @throws ToolgateError UNAVAILABLE when the network cannot tell, the signal's reason when it aborts
 */
export async function pollDeposit(
  deps: PollDeps,
  deposit: Deposit,
  signal: AbortSignal,
): Promise<DepositMatch | null> {
  const { depositId, txSignature, reference } = deposit;
  const memo = depositMemo(depositId, deps.memoPrefix);
  const judge = async (candidate: Candidate, sent: boolean) =>
    matchDeposit(candidate, await readingOf(deps, candidate, signal), { memo, sent });

  const known = txSignature === undefined ? undefined : await deps.chain.find(txSignature, signal);
  const first = known && (await judge(known, true));
  if (first?.kind === "pays") return first;
  const candidates = await deps.chain.findByReference(reference, signal);
  const others = candidates.filter((candidate) => candidate.txSignature !== txSignature);
  const sightings = await Promise.all(others.map((candidate) => judge(candidate, false)));
  return bestMatch([first, ...sightings].filter((sighting) => sighting !== undefined)) ?? null;
}

async function readingOf(
  { chain, effects }: PollDeps,
  { txSignature, stage }: Candidate,
  signal: AbortSignal,
): Promise<TransactionEffect | undefined> {
  // Nodes tell transactions once the cluster has voted for them.
  if (stage === "seen") return undefined;
  const known = effects.get(txSignature);
  if (known) return known;
  const reading = await chain.effect(txSignature, signal);
  if (!reading) return undefined;
  const { change, memo } = reading;
  // On another fork a transaction can fail, or succeed.
  if (change > 0n || stage === "finalized") effects.set(txSignature, { change, memo });
  return reading;
}
