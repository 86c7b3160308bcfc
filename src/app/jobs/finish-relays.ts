import type { GaslessRelay } from "../payments/relay.ts";
import type { RelayClaims } from "../payments/relay-claims.ts";

/** How long nobody has moved a claim before it is taken up, ms: whoever looks after it would have, or is gone. */
const IDLE_MS = 3_000;

/** Claims that one round takes up, and how many of them at once. */
const [MOST, AT_ONCE] = [256, 8];

/** What the work needs. */
export interface FinishRelaysDeps {
  readonly relay: Pick<GaslessRelay, "advance">;
  readonly claims: Pick<RelayClaims, "unfinished">;
}

/**
 * Takes relayed payments that nobody looks after one step further: their instance may be gone, or their caller does not come back. What
 * they paid is credited by the watch, or by the call when it is repeated. One that cannot be advanced keeps none of the others from it.
 * @throws when one could not be advanced, after all the rest were
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
    `${failures.length} of ${unfinished.length} relayed payments could not be looked after`,
  );
}
