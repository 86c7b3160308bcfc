import type { Log } from "../../domain/core/log.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";

export interface RecordedActionDeps {
  readonly actions: Pick<OperatorActionLog, "record" | "recordFailure">;
  readonly log: Pick<Log, "error">;
}

/**
 * Records an operator's action, then runs it; what cannot be recorded is not run. Failures are recorded
 * too, so an action without a failure succeeded or was interrupted.
 * @throws ToolgateError UNAVAILABLE when it cannot be recorded; whatever `work` throws
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
      log.error({ err, action_id: actionId }, "an operator action failed and could not be logged");
    });
    throw error;
  }
}

/** The message returned to the caller. Internal errors are only logged. */
function failureOf(error: unknown): string {
  return error instanceof ToolgateError ? `${error.code}: ${error.message}` : "INTERNAL";
}

export type ActionName =
  | "account.create"
  | "account.adjust"
  | "account.tier"
  | "account.block"
  | "account.move"
  | "account.unblock"
  | "account.operator"
  | "balance.explain"
  | "key.create"
  | "key.update"
  | "key.rotate"
  | "key.revoke"
  | "key-group.create"
  | "key-group.update"
  | "key-group.delete"
  | "sealing-key.rotate"
  | "sealing-key.retire"
  | "config.apply"
  | "config.rollback"
  | "tools.try"
  | "database.reconcile"
  | "archive.archive"
  | "archive.restore"
  | "suspense.assign"
  | "receipt.refund"
  | "webhook.create"
  | "webhook.update"
  | "webhook.delete"
  | "webhook.rotate";

export interface Actor {
  /** Undefined on the command line. */
  accountId: string | undefined;
  /** `ses_…`, `key_…`, or `cli:` and the system user. */
  name: string;
}

export interface NewAction {
  actor: Actor;
  name: ActionName;
  /** Target, such as an account id. */
  target: string;
  /** Parameters without secrets. */
  details: JsonObject;
  /** Idempotency key. Undefined for actions that may repeat. */
  idempotencyKey: string | undefined;
}

export interface OperatorAction extends Omit<NewAction, "name" | "details" | "idempotencyKey"> {
  /** `act_…` */
  actionId: string;
  at: Date;
  name: string;
  /** JSON. */
  details: string;
  /** Undefined on success. */
  failure: string | undefined;
  /** `act_…` of the first action with the same key; undefined for the first. */
  repeatOf: string | undefined;
}

/** Which actions are listed; undefined: all. */
export interface ActionFilter {
  action?: string | undefined;
  /** An account, `acct_…`, or the name of an {@link Actor}. */
  operator?: string | undefined;
  target?: string | undefined;
}

/** Append-only log of operator actions. */
export interface OperatorActionLog {
  /**
   * Records an action before it runs. @returns `act_…`. @throws ToolgateError UNAVAILABLE when it cannot be
   * recorded
   */
  record(action: NewAction): Promise<string>;
  recordFailure(actionId: string, failure: string): Promise<void>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  list(query: PageRequest & ActionFilter): Promise<Page<OperatorAction>>;
}

/** The number of a change of a balance, after which the next one does not follow. */
export interface BalanceStep {
  accountId: string;
  /** Decimal. */
  number: string;
}

/** Changes of balances that are not as the ledger numbers them, such as those made by hand. */
export interface BalanceSteps {
  /** The first 1,000 that no operator has explained, of one account or of all. Reads all history. */
  unexplained(accountId: string | undefined): Promise<BalanceStep[]>;
  /** Lets audits accept it; records why. */
  explain(step: BalanceStep, reason: string): Promise<void>;
}

/** What a secret does: it seals quotes, signs API keys, or signs x402 offers and receipts. */
export const KEY_PURPOSES = ["quotes", "api-keys", "receipts"] as const;

export type KeyPurpose = (typeof KEY_PURPOSES)[number];

/** A version of a secret, without the secret. */
export interface SealingKeyVersion {
  purpose: KeyPurpose;
  version: number;
  /** `pending`: used from `activeFrom` on; `active`: used now; `old`: only accepted. */
  state: "pending" | "active" | "old";
  activeFrom: Date;
  createdAt: Date;
  /** Why it may not be retired; undefined when nothing needs it. */
  neededFor: string | undefined;
}

export interface SealingKeyAdmin {
  /** Newest first, per purpose. */
  list(purpose: KeyPurpose | undefined): Promise<SealingKeyVersion[]>;
  /** Adds a version. `now`: it is used at once, also while an instance may not have loaded it. */
  rotate(rotation: { purpose: KeyPurpose; now: boolean }): Promise<SealingKeyVersion>;
  /**
   * Deletes an old version: what it sealed or signed is refused from then on. Returns it.
   * @throws ToolgateError NOT_FOUND for an unknown version; INVALID_REQUEST when it is not an old one, or is
   * still needed and `force` is not set
   */
  retire(retirement: { purpose: KeyPurpose; version: number; force: boolean }): Promise<SealingKeyVersion>;
}
