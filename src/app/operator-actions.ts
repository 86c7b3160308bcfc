import { ToolgateError } from "../domain/errors.ts";
import type { NewAction, OperatorActionLog } from "./operations-ports.ts";

/** What acting needs. */
export interface RecordedActionDeps {
  readonly actions: Pick<OperatorActionLog, "record" | "recordFailure">;
  readonly log: { error(details: object, message: string): void };
}

/**
 * Does what an operator asks for once it is written down: what cannot be written is not done. A failure is written too, so that what
 * stands alone was done, or was cut off in the middle.
 * @throws ToolgateError UNAVAILABLE when it cannot be written; whatever `work` throws
 */
export async function recordedAction<Result>(
  { actions, log }: RecordedActionDeps,
  action: NewAction,
  work: () => Promise<Result>,
): Promise<Result> {
  const actionId = await actions.record(action);
  try {
    return await work();
  } catch (error) {
    await actions.recordFailure(actionId, failureOf(error)).catch((err: unknown) => {
      log.error(
        { err, action_id: actionId },
        "an operator's action failed, which could not be written to their log",
      );
    });
    throw error;
  }
}

/** What callers are told: the rest is the program's own, and in its log. */
function failureOf(error: unknown): string {
  return error instanceof ToolgateError ? `${error.code}: ${error.message}` : "INTERNAL";
}
