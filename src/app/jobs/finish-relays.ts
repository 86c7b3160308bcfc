import type { GaslessRelay } from "../payments/gasless/relay.ts";
import type { RelayClaims } from "../payments/gasless/relay-claims.ts";

/** Idle time of a claim before it is taken over, ms: the instance that submits it would have moved it. */
const IDLE_MS = 3_000;

/** Claims per run, and how many concurrently. */
const [MOST, AT_ONCE] = [256, 8];

export interface FinishRelaysDeps {
  readonly relay: Pick<GaslessRelay, "advance">;
  readonly claims: Pick<RelayClaims, "unfinished">;
}

/**
 * Advances relayed payments that no instance is submitting: the instance may be gone, or the caller did not
 * return. The treasury watch credits the payment, or the repeated call does. A failure does not affect the
 * other claims.
 * @throws AggregateError after all claims were tried
 */
export async function finishRelays({ relay, claims }: FinishRelaysDeps, signal: AbortSignal): Promise<void> {
  const unfinished = await claims.unfinished(IDLE_MS, MOST);
  const failures: unknown[] = [];
  for (let at = 0; at < unfinished.length; at += AT_ONCE) {
    const advanced = unfinished.slice(at, at + AT_ONCE).map((claim) => relay.advance(claim, signal));
    for (const outcome of await Promise.allSettled(advanced)) {
      if (outcome.status === "rejected") failures.push(outcome.reason);
    }
    signal.throwIfAborted();
  }
  if (failures.length === 0) return;
  throw new AggregateError(
    failures,
    `${failures.length} of ${unfinished.length} relayed payments could not be finished`,
  );
}
