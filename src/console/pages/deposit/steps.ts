import { DepositState } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import type { StatusLabel } from "../status-labels.ts";

export type StepState = "done" | "now" | "later" | "failed";

export interface Step {
  readonly name: string;
  readonly state: StepState;
  readonly text: string;
}

const STEPS = [
  { name: "Seen", state: DepositState.SEEN, text: "The network has received your transaction." },
  { name: "Confirmed", state: DepositState.CONFIRMED, text: "Validators vote on it within seconds." },
  {
    name: "Finalized",
    state: DepositState.FINALIZED,
    text: "It can no longer be reversed, after about 15 seconds.",
  },
  { name: "Credited", state: DepositState.CREDITED, text: "The amount is added to your balance." },
] as const;

/**
 * Returns the four steps with their states; none for a cancelled deposit. No step is active before a
 * transaction was seen. A failed transaction never shows a later step as done, and a payment without the
 * deposit's reference is never shown as credited.
 */
export function stepsOf(state: DepositState): readonly Step[] {
  if (state === DepositState.CANCELLED) return [];
  if (state === DepositState.FAILED) {
    return STEPS.map(({ name, text }, index) => ({ name, text, state: index === 0 ? "failed" : "later" }));
  }
  if (state === DepositState.UNASSIGNED) {
    return STEPS.map(({ name, text }, index) => ({
      name,
      text,
      state: index === 0 ? "done" : index === STEPS.length - 1 ? "failed" : "later",
    }));
  }
  const reached = STEPS.findIndex((step) => step.state === state);
  const next = reached < 0 ? undefined : reached + 1;
  return STEPS.map(({ name, text }, index) => ({
    name,
    text,
    state: index <= reached ? "done" : index === next ? "now" : "later",
  }));
}

const HEADLINES: Readonly<Record<number, string>> = {
  [DepositState.SEEN]: "Seen on the network",
  [DepositState.CONFIRMED]: "Confirmed, waiting for finality",
  [DepositState.FINALIZED]: "Finalized, crediting your balance",
  [DepositState.CREDITED]: "Credited to your balance",
  [DepositState.FAILED]: "The transaction failed",
  [DepositState.UNASSIGNED]: "Arrived without this deposit's memo",
  [DepositState.CANCELLED]: "Cancelled before it was paid",
};

/** Returns the heading above the steps, which is also announced to screen readers. */
export function headline(state: DepositState): string {
  return HEADLINES[state] ?? "Waiting for your payment";
}

const STATE_LABELS: Readonly<Record<number, StatusLabel>> = {
  [DepositState.SEEN]: { text: "Seen", kind: "wait" },
  [DepositState.CONFIRMED]: { text: "Confirmed", kind: "wait" },
  [DepositState.FINALIZED]: { text: "Finalized", kind: "wait" },
  [DepositState.CREDITED]: { text: "Credited", kind: "ok" },
  [DepositState.FAILED]: { text: "Failed", kind: "bad" },
  [DepositState.UNASSIGNED]: { text: "Unassigned", kind: "warn" },
  [DepositState.CANCELLED]: { text: "Cancelled", kind: "off" },
};

export function depositStateLabel(state: DepositState): StatusLabel {
  return STATE_LABELS[state] ?? { text: "Waiting", kind: "off" };
}

/** Whether the deposit can be cancelled: nothing was paid. */
export function isCancellable(state: DepositState): boolean {
  return state === DepositState.WAITING || state === DepositState.FAILED;
}

/** Whether the deposit can be paid. False while a payment is under way, so that it is not paid twice. */
export function isPayable(state: DepositState): boolean {
  return state === DepositState.WAITING || state === DepositState.FAILED || state === DepositState.UNASSIGNED;
}

/** Returns the poll interval, ms; false once credited. A failed deposit can be paid again. */
export function pollIntervalMs(state: DepositState): number | false {
  if (state === DepositState.CREDITED || state === DepositState.CANCELLED) return false;
  return isPayable(state) ? 2_000 : 1_000;
}
