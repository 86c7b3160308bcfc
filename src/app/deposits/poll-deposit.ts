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

export interface PollDeps {
  readonly chain: DepositChain;
  readonly memoPrefix: string;
  readonly effects: EffectCache;
}

/** Effects of transactions by signature. They do not change. */
export type EffectCache = Lru<string, TransactionEffect>;

/** Capacity of the cache; an entry has about 200 bytes. */
const REMEMBERED = 2_000;

export function newEffectCache(): EffectCache {
  return new Lru(REMEMBERED);
}

/**
 * Finds a deposit's transaction: the known one or, unless that pays, those that name the reference.
 * @returns null when there is none
 * @throws ToolgateError UNAVAILABLE when the network cannot answer; the signal's reason when it aborts
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
  const matches = await Promise.all(others.map((candidate) => judge(candidate, false)));
  return bestMatch([first, ...matches].filter((match) => match !== undefined)) ?? null;
}

async function readingOf(
  { chain, effects }: PollDeps,
  { txSignature, stage }: Candidate,
  signal: AbortSignal,
): Promise<TransactionEffect | undefined> {
  // Nodes return a transaction only after the cluster voted for it.
  if (stage === "seen") return undefined;
  const known = effects.get(txSignature);
  if (known) return known;
  const reading = await chain.effect(txSignature, signal);
  if (!reading) return undefined;
  const { change, memo } = reading;
  // A failed transaction may still succeed on another fork.
  if (change > 0n || stage === "finalized") effects.set(txSignature, { change, memo });
  return reading;
}
