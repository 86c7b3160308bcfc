import { DepositState } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import type { Word } from "../words.ts";

/** How far one step of a deposit is. */
export type StepState = "done" | "now" | "later" | "failed";

/** One step of a deposit, as it is shown. */
export interface Step {
  readonly name: string;
  readonly state: StepState;
  /** What happens in it, or happened. */
  readonly text: string;
}

const STEPS = [
  { name: "Seen", state: DepositState.SEEN, text: "Your transaction has reached the chain." },
  { name: "Confirmed", state: DepositState.CONFIRMED, text: "The validators have voted for it, in seconds." },
  { name: "Finalized", state: DepositState.FINALIZED, text: "It can no longer be undone, after about 15 seconds." },
  { name: "Credited", state: DepositState.CREDITED, text: "It is on your balance." },
] as const;

/**
 * The four steps of a deposit. A transaction that failed has got as far as being seen, and no further: nothing after it is ever shown as
 * done, whatever the chain voted for.
 */
export function stepsOf(state: DepositState): readonly Step[] {
  if (state === DepositState.FAILED) {
    return STEPS.map(({ name, text }, index) => ({ name, text, state: index === 0 ? "failed" : "later" }));
  }
  const reached = STEPS.findIndex((step) => step.state === state);
  return STEPS.map(({ name, text }, index) => ({
    name,
    text,
    state: index <= reached ? "done" : index === reached + 1 ? "now" : "later",
  }));
}

/** What is said aloud and at the top of the steps. */
export function headline(state: DepositState): string {
  switch (state) {
    case DepositState.SEEN:
      return "Seen on the chain";
    case DepositState.CONFIRMED:
      return "Confirmed, waiting until it is final";
    case DepositState.FINALIZED:
      return "Final, being credited";
    case DepositState.CREDITED:
      return "Credited to your balance";
    case DepositState.FAILED:
      return "The transaction failed on the chain";
    default:
      return "Waiting for your payment";
  }
}

/** One word for lists. */
export function stateWord(state: DepositState): Word {
  switch (state) {
    case DepositState.SEEN:
      return { word: "seen", kind: "wait" };
    case DepositState.CONFIRMED:
      return { word: "confirmed", kind: "wait" };
    case DepositState.FINALIZED:
      return { word: "finalized", kind: "wait" };
    case DepositState.CREDITED:
      return { word: "credited", kind: "ok" };
    case DepositState.FAILED:
      return { word: "failed", kind: "bad" };
    default:
      return { word: "waiting", kind: "off" };
  }
}

/** Whether another look at the chain can show anything new: a failed one may still be followed by one that lands. */
export function isOpen(state: DepositState): boolean {
  return state !== DepositState.CREDITED;
}

/** How long to wait before the next look, ms: a payment on its way is watched closely, one that may never come less so. */
export function lookAgainAfter(state: DepositState): number | false {
  if (!isOpen(state)) return false;
  return state === DepositState.WAITING || state === DepositState.FAILED ? 2_000 : 1_000;
}
