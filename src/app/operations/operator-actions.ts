import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Page } from "../../domain/core/page.ts";

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

/** What operators do, as their log names it. */
export type ActionName =
  | "account.create"
  | "account.adjust"
  | "account.tier"
  | "account.block"
  | "account.unblock"
  | "account.operator"
  | "key.create"
  | "key.rotate"
  | "key.revoke"
  | "suspense.assign"
  | "receipt.refund";

/** Who acts, and with what. */
export interface Actor {
  /** The operator's account; undefined at the command line. */
  accountId: string | undefined;
  /** A session, `ses_…`, a key, `key_…`, or `cli:` and the name of the machine's user. */
  name: string;
}

/** What is about to be done. */
export interface NewAction {
  actor: Actor;
  name: ActionName;
  /** What it is done to, e.g. an account's identifier. */
  target: string;
  /** With what. Secrets are none of it. */
  details: JsonObject;
  /** What makes it the same when it is done to the same target again, e.g. an idempotency key; undefined where each time counts. */
  idempotencyKey: string | undefined;
}

/** What was done. */
export interface OperatorAction extends Omit<NewAction, "name" | "details" | "idempotencyKey"> {
  /** `act_…` */
  actionId: string;
  at: Date;
  name: string;
  /** JSON. */
  details: string;
  /** Why it failed; undefined when it did not. */
  failure: string | undefined;
  /** `act_…` of the first that did the same; undefined where it is the first. */
  repeatOf: string | undefined;
}

/** The log of what operators do. Nobody can change or delete what it holds. */
export interface OperatorActionLog {
  /** Writes what is about to be done. @returns `act_…`. @throws ToolgateError UNAVAILABLE when it cannot be written */
  record(action: NewAction): Promise<string>;
  /** Writes that it was not done. */
  recordFailure(actionId: string, failure: string): Promise<void>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for a cursor that is none of ours */
  list(query: { limit: number; cursor: string | undefined }): Promise<Page<OperatorAction>>;
}
