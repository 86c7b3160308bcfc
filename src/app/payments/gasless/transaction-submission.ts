import { setTimeout as sleep } from "node:timers/promises";
import { ToolgateError } from "../../../domain/core/errors.ts";
import type { Log } from "../../../domain/core/log.ts";
import { reasonOf } from "./relay-errors.ts";
import type { RelayClaims, RelayClaim } from "./relay-claims.ts";
import type { RelayChain } from "./relay-port.ts";

/** Polling intervals, ms: short at first, since most transactions confirm within two seconds. */
const [SHORT_PAUSE_MS, SHORT_UNTIL_MS, LONG_PAUSE_MS] = [250, 2_000, 1_000];
/** Interval between sends, ms: nodes drop transactions they cannot place. */
const RESEND_MS = 2_000;

export interface SubmissionDeps {
  readonly claims: Pick<RelayClaims, "find" | "reject" | "move">;
  readonly chain: Pick<RelayChain, "simulate" | "send" | "outcome">;
  readonly log: Log;
}

export type SubmissionState = Pick<RelayClaim, "state" | "reason">;

/**
 * Submits a claim from any state, on any instance, any number of times. Sends only the stored bytes and
 * only after moving to `broadcast`. `failed` means it certainly did not and will not pay.
 */
export class TransactionSubmission {
  readonly #deps: SubmissionDeps;

  constructor(deps: SubmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Runs until there is an outcome or `patience` aborts: a sent claim is then `unknown`. Never rejects:
   * outages are retried later.
   */
  async waitForOutcome(claim: RelayClaim, patience: AbortSignal): Promise<SubmissionState> {
    let progress: SubmissionState = claim;
    // Resend on the first poll that does not find it: another instance may not have sent it.
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
   * Runs one step: simulates and sends an unsent claim; looks up a sent one, and sends again with `resend`.
   * @throws ToolgateError UNAVAILABLE, with the claim unchanged
   */
  async step(
    claim: RelayClaim,
    { resend, signal }: { resend: boolean; signal: AbortSignal },
  ): Promise<SubmissionState> {
    if (isOver(claim)) return claim;
    return claim.state === "claimed" ? this.#submit(claim, signal) : this.#lookFor(claim, resend, signal);
  }

  async #submit(claim: RelayClaim, signal: AbortSignal): Promise<SubmissionState> {
    const { claims, chain } = this.#deps;
    const problem = await chain.simulate(claim.signedTransaction, signal);
    if (problem !== undefined) {
      const reason = reasonOf("simulation_failed", problem);
      return (await claims.reject(claim.messageHash, reason))
        ? { state: "failed", reason }
        : this.#reread(claim);
    }
    // Moved before sending, so that no instance can reject it any more. A second send is harmless.
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

  /** The network's outcome is final even if it cannot be stored: the next caller looks it up again. */
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

  /** Failures are retried with the next send. */
  async #send({ signedTransaction, quoteId }: RelayClaim, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.chain.send(signedTransaction, signal);
    } catch (error) {
      this.#deps.log.warn(
        { quote: quoteId, err: error },
        "a relayed payment could not be sent and will be sent again",
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
          "a relayed payment could not be checked and will be checked again",
        );
      }
      // The operation may have succeeded and only its response been lost.
      return this.#reread(claim).catch(() => claim);
    }
  }

  async #giveUp({ messageHash, quoteId }: RelayClaim): Promise<void> {
    try {
      await this.#deps.claims.move(messageHash, "unknown");
    } catch (error) {
      this.#deps.log.warn(
        { quote: quoteId, err: error },
        "a relayed payment timed out, and its state could not be stored",
      );
    }
  }
}

function isOver({ state }: SubmissionState): boolean {
  return state === "confirmed" || state === "failed";
}
