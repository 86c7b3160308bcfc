import { DepositState } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import type { StatusLabel } from "../status-labels.ts";

/** State of one step. */
export type StepState = "done" | "now" | "later" | "failed";

/** One step of a deposit. */
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

/** Returns the heading above the steps, which is also announced to screen readers. */
export function headline(state: DepositState): string {
  switch (state) {
    case DepositState.SEEN:
      return "Seen on the network";
    case DepositState.CONFIRMED:
      return "Confirmed, waiting for finality";
    case DepositState.FINALIZED:
      return "Finalized, crediting your balance";
    case DepositState.CREDITED:
      return "Credited to your balance";
    case DepositState.FAILED:
      return "The transaction failed";
    case DepositState.UNASSIGNED:
      return "Arrived without this deposit's memo";
    case DepositState.CANCELLED:
      return "Cancelled before it was paid";
    default:
      return "Waiting for your payment";
  }
}

/** Returns the label for lists. */
export function depositStateLabel(state: DepositState): StatusLabel {
  switch (state) {
    case DepositState.SEEN:
      return { text: "Seen", kind: "wait" };
    case DepositState.CONFIRMED:
      return { text: "Confirmed", kind: "wait" };
    case DepositState.FINALIZED:
      return { text: "Finalized", kind: "wait" };
    case DepositState.CREDITED:
      return { text: "Credited", kind: "ok" };
    case DepositState.FAILED:
      return { text: "Failed", kind: "bad" };
    case DepositState.UNASSIGNED:
      return { text: "Unassigned", kind: "warn" };
    case DepositState.CANCELLED:
      return { text: "Cancelled", kind: "off" };
    default:
      return { text: "Waiting", kind: "off" };
  }
}

/** Whether the deposit can be cancelled: nothing was paid. */
export function isCancellable(state: DepositState): boolean {
  return state === DepositState.WAITING || state === DepositState.FAILED;
}

/** Whether the deposit can be paid. False while a payment is under way, so that it is not paid twice. */
export function isPayable(state: DepositState): boolean {
  return state === DepositState.WAITING || state === DepositState.FAILED || state === DepositState.UNASSIGNED;
}

/**
 * Returns the poll interval in ms; false once credited. A failed deposit is polled too: it can be paid again.
 */
export function pollIntervalMs(state: DepositState): number | false {
  if (state === DepositState.CREDITED || state === DepositState.CANCELLED) return false;
  return isPayable(state) ? 2_000 : 1_000;
}
