/** Events of an account. */
export const ACCOUNT_EVENTS = [
  "balance.low",
  "budget.threshold_reached",
  "budget.exhausted",
  "deposit.credited",
  "payment.reversed",
  "receipt.refunded",
  "key.expiring",
  "session.created",
] as const;

/** Events of the deployment, for operators. */
export const OPERATOR_EVENTS = ["suspense.received", "audit.violation", "treasury.difference"] as const;

/** Sent on request to one endpoint, whatever its types. */
export const TEST_EVENT = "webhook.test";

export type EventType =
  | (typeof ACCOUNT_EVENTS)[number]
  | (typeof OPERATOR_EVENTS)[number]
  | typeof TEST_EVENT;
