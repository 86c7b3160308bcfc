import { setTimeout as sleep } from "node:timers/promises";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Log } from "../../domain/core/log.ts";
import { reasonOf } from "./relay-errors.ts";
import type { RelayClaims, RelayClaim } from "./relay-claims.ts";
import type { RelayChain } from "./relay-chain.ts";

/** Pauses between two looks, ms: short ones first, a transaction is usually confirmed within two seconds. */
const [SHORT_PAUSE_MS, SHORT_UNTIL_MS, LONG_PAUSE_MS] = [250, 2_000, 1_000];
/** How often the bytes are sent again, ms: nodes drop what they cannot place at once. */
const RESEND_MS = 2_000;

/** What a step needs. */
export interface SubmissionDeps {
  readonly claims: Pick<RelayClaims, "find" | "reject" | "move">;
  readonly chain: Pick<RelayChain, "simulate" | "send" | "outcome">;
  readonly log: Log;
}

/** Where a claim has come to. */
export type SubmissionState = Pick<RelayClaim, "state" | "reason">;

/**
 * Sees a claim through the network, from any state, in any instance, as often as need be: nothing is sent that was not moved to
 * `broadcast` before, nothing but the stored bytes, and `failed` is only what certainly did not and will not pay.
 */
export class TransactionSubmission {
  readonly #deps: SubmissionDeps;

  constructor(deps: SubmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Goes on until there is an outcome, or `patience` ends: a claim that was sent is then `unknown`. Never rejects: an outage is no
   * outcome, and what it leaves behind is taken up again.
   */
  async waitForOutcome(claim: RelayClaim, patience: AbortSignal): Promise<SubmissionState> {
    let progress: SubmissionState = claim;
    // What was sent by others, or may not have been, is sent at the first look that does not find it.
    let sentAt = -RESEND_MS;
    for (let elapsed = 0; !isOver(progress) && !patience.aborted;) {
      const resend = elapsed - sentAt >= RESEND_MS;
      if (resend) sentAt = elapsed;
      progress = await this.#attempt({ ...claim, ...progress }, { resend, signal: patience });
      if (isOver(progress)) break;
      const pause = elapsed < SHORT_UNTIL_MS ? SHORT_PAUSE_MS : LONG_PAUSE_MS;
      elapsed += pause;
      await sleep(pause, undefined, { signal: patience }).catch(() => undefined);
    }
    if (progress.state === "broadcast") await this.#giveUp(claim);
    return progress;
  }

  /**
   * One step: what has not been sent is simulated and sent, what has been is looked for, and sent again with `resend`.
   * @throws ToolgateError UNAVAILABLE, with the claim as it was
   */
  async step(
    claim: RelayClaim,
    { resend, signal }: { resend: boolean; signal: AbortSignal },
  ): Promise<SubmissionState> {
    if (isOver(claim)) return claim;
    return claim.state === "claimed" ? this.#begin(claim, signal) : this.#lookFor(claim, resend, signal);
  }

  async #begin(claim: RelayClaim, signal: AbortSignal): Promise<SubmissionState> {
    const { claims, chain } = this.#deps;
    const problem = await chain.simulate(claim.signedTransaction, signal);
    if (problem !== undefined) {
      const reason = reasonOf("simulation_failed", problem);
      return (await claims.reject(claim.messageHash, reason))
        ? { state: "failed", reason }
        : this.#reread(claim);
    }
    // Moved before it is sent, so that nobody can reject it any more. Whoever moved it, one more send does no harm.
    const moved = await claims.move(claim.messageHash, "broadcast");
    const progress = moved ? { state: "broadcast" as const, reason: undefined } : await this.#reread(claim);
    if (!isOver(progress)) await this.#send(claim, signal);
    return progress;
  }

  async #lookFor(claim: RelayClaim, resend: boolean, signal: AbortSignal): Promise<SubmissionState> {
    const { txSignature, lastValidBlockHeight } = claim;
    const outcome = await this.#deps.chain.outcome({ txSignature, lastValidBlockHeight, signal });
    if (outcome.kind === "confirmed") return this.#end(claim, { state: "confirmed", reason: undefined });
    if (outcome.kind === "failed") {
      return this.#end(claim, { state: "failed", reason: reasonOf("failed_on_chain", outcome.reason) });
    }
    if (outcome.expired) return this.#end(claim, { state: "failed", reason: reasonOf("never_landed") });
    if (resend) await this.#send(claim, signal);
    return claim;
  }

  /** What the network says counts, also when the book cannot be told: it is asked again by whoever comes next. */
  async #end(
    claim: RelayClaim,
    end: { state: "confirmed" | "failed"; reason: string | undefined },
  ): Promise<SubmissionState> {
    const { claims, log } = this.#deps;
    if (await claims.move(claim.messageHash, end.state, end.reason)) return end;
    const known = await this.#reread(claim);
    if (known.state === end.state) return known;
    const fields = { quote: claim.quoteId, network: end.state, book: known.state };
    log.error(fields, "a relayed payment ended otherwise than was thought");
    return end.state === "confirmed" ? end : known;
  }

  /** Who cannot send now sends again later. */
  async #send({ signedTransaction, quoteId }: RelayClaim, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.chain.send(signedTransaction, signal);
    } catch (error) {
      this.#deps.log.warn(
        { quote: quoteId, err: error },
        "a relayed payment could not be sent, and will be sent again",
      );
    }
  }

  async #reread({ messageHash }: RelayClaim): Promise<SubmissionState> {
    const claim = await this.#deps.claims.find(messageHash);
    if (claim) return claim;
    throw new ToolgateError("UNAVAILABLE", "the payment is not on record any more", { retryAfterSeconds: 2 });
  }

  async #attempt(
    claim: RelayClaim,
    options: { resend: boolean; signal: AbortSignal },
  ): Promise<SubmissionState> {
    try {
      return await this.step(claim, options);
    } catch (error) {
      if (!options.signal.aborted) {
        this.#deps.log.warn(
          { quote: claim.quoteId, err: error },
          "a relayed payment could not be looked after, and will be again",
        );
      }
      // What failed may have been the answer alone.
      return this.#reread(claim).catch(() => claim);
    }
  }

  async #giveUp({ messageHash, quoteId }: RelayClaim): Promise<void> {
    try {
      await this.#deps.claims.move(messageHash, "unknown");
    } catch (error) {
      this.#deps.log.warn(
        { quote: quoteId, err: error },
        "a relayed payment that was not seen in time could not be noted as such",
      );
    }
  }
}

/** Whether there is nothing left to do. */
function isOver({ state }: SubmissionState): boolean {
  return state === "confirmed" || state === "failed";
}
