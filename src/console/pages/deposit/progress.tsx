import type { Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { Icon } from "../../ui/index.ts";
import { headline, stepsOf, type StepState } from "./steps.ts";

const STEP_STATE_LABELS: Readonly<Record<StepState, string>> = {
  done: "done",
  now: "in progress",
  later: "pending",
  failed: "failed",
};

/** The steps of a deposit; changes are announced to screen readers. */
export function Progress({ deposit }: { deposit: Deposit }) {
  const steps = stepsOf(deposit.state);
  return (
    <div className="progress">
      <p className="progress-headline" role="status" aria-live="polite">
        {headline(deposit.state)}
      </p>
      {steps.length > 0 && (
        <ol>
          {steps.map(({ name, state, text }) => (
            <li
              key={name}
              className={`progress-${state}`}
              aria-current={state === "now" ? "step" : undefined}
            >
              <span className="progress-mark">
                {state === "done" && <Icon name="check" />}
                {state === "failed" && <Icon name="cross" />}
              </span>
              <span className="progress-name">
                {name}
                <span className="hidden">: {STEP_STATE_LABELS[state]}</span>
              </span>
              <span className="progress-text">{text}</span>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
