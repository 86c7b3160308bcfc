import { ToolgateError } from "../../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../../domain/core/money.ts";
import { RELAY_REFUSALS, relayRefused } from "../../../domain/payments/relay-refusal.ts";
import type { RelayBudget, RelayQuota, RelayVerdict } from "./relay-claims.ts";

/** Errors of relayed payments. Each states whether anything was sent and what to do. */

const AGAIN =
  "sign a new transaction for the same quote, or repeat the call without a payment if the quote has expired";

/** Why a claim failed, as stored. */
export type FailureKind = "simulation_failed" | "failed_on_chain" | "never_landed";

const FAILURES: Readonly<Record<FailureKind, (detail: string) => string>> = {
  simulation_failed: (detail) =>
    `the transaction would fail on the chain: ${detail}; nothing was sent and no USDC moved; ${AGAIN}`,
  failed_on_chain: (detail) => `the transaction failed on the chain: ${detail}; no USDC moved; ${AGAIN}`,
  never_landed: () =>
    `the network did not take the transaction before its blockhash expired; no USDC moved; ${AGAIN}`,
};

/** Formats a reason for storage. */
export function reasonOf(kind: FailureKind, detail = ""): string {
  return detail === "" ? kind : `${kind}: ${detail}`;
}

/** INVALID_PAYMENT for a failed claim. @param reason as stored */
export function paymentFailed(reason: string): ToolgateError {
  const [, kind = "", detail = ""] = /^(\w+)(?:: (.*))?$/su.exec(reason) ?? [];
  if (isFailureKind(kind)) return relayRefused(kind, FAILURES[kind](detail));
  return relayRefused(RELAY_REFUSALS.FAILED_ON_CHAIN, FAILURES.failed_on_chain(reason));
}

function isFailureKind(kind: string): kind is FailureKind {
  return Object.hasOwn(FAILURES, kind);
}

/**
 * INVALID_PAYMENT for a transaction reported as confirmed that is not on the chain. Its quote stays claimed.
 */
export function paymentLost(): ToolgateError {
  return relayRefused(
    RELAY_REFUSALS.NEVER_LANDED,
    "the network reported the transaction as confirmed but does not have it; no USDC moved, repeat " +
      "the call without a payment",
  );
}

/** PAYMENT_PENDING: sent, or possibly sent. Never a new quote, which could make the client pay twice. */
export function paymentPending(cause?: unknown): ToolgateError {
  return new ToolgateError(
    "PAYMENT_PENDING",
    "the payment is on its way and not confirmed yet; repeat the call with the same payment, and do " +
      "not pay again",
    { retryAfterSeconds: 2, cause },
  );
}

export function quoteExpired(): ToolgateError {
  return new ToolgateError(
    "QUOTE_EXPIRED",
    "the quote has expired; nothing was sent, repeat the call without a payment",
  );
}

/** INVALID_PAYMENT for a price below the relay's minimum. */
export function quoteTooCheap(price: MicroUsd, minimum: MicroUsd): ToolgateError {
  return relayRefused(
    RELAY_REFUSALS.QUOTE_TOO_CHEAP,
    `payments below ${displayUsd(minimum)} are not relayed, and this one is ${displayUsd(price)}; ` +
      "send the transfer yourself and prove it with its signature, or pay from the balance",
  );
}

/** Error for a refused claim. Omits the other transaction's signature, which may not be public yet. */
export function claimRefused(verdict: Exclude<RelayVerdict, { kind: "claimed" | "known" }>): ToolgateError {
  if (verdict.kind === "quote_taken") {
    return relayRefused(
      RELAY_REFUSALS.QUOTE_TAKEN,
      "another transaction pays or has paid this quote; this one was not sent, repeat the call with " +
        "the first transaction",
    );
  }
  const { kind, of, retryAfterSeconds } = verdict;
  const message = `${LIMITS[of]}; nothing was sent, wait or pay the fee yourself (payment method wallet)`;
  return new ToolgateError(kind === "budget" ? "UNAVAILABLE" : "RATE_LIMITED", message, {
    retryAfterSeconds,
  });
}

const LIMITS: Readonly<Record<RelayQuota | RelayBudget, string>> = {
  transactions: "this account reached its limit of relayed payments per hour",
  failures: "too many payments of this account failed within the hour",
  open: "this account or wallet reached its limit of open payments; each confirmed one allows one more",
  unproven:
    "payments of this account or wallet failed on the chain within 24 hours; each one that is " +
    "confirmed allows one more failure",
  budget: "the gateway's fee budget of today is spent",
  reserve: "the gateway's fee budget of today for accounts without a settled payment is spent",
};
