import type { CallAuthorization, AuthorizeResult } from "../app/ports.ts";
import type { Clock } from "../domain/clock.ts";
import type { JsonObject } from "../domain/json.ts";
import { parseCachedJson } from "../domain/json-text.ts";
import { Lru } from "../domain/lru.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { Notifications } from "./notifications.ts";
import { idFromUuid } from "./row-mapping.ts";

/** The channel on which the database tells of runs whose charge was given back, in hex (migration 0023). */
const REFUND_CHANNEL = "toolgate_refund";

/** Answers that are remembered at most, and the longest of them, characters of JSON: 33 MB in all, and half of it for plain text. */
const [MOST, LONGEST] = [1_000, 16_384];

/** How long an answer is remembered at most, ms: callers who lost one ask again soon. A record in the database lies for days. */
const REMEMBERED_MS = 300_000;

/** An answer as it was stored. */
interface CachedResult {
  readonly fingerprint: Buffer;
  readonly text: string;
  /** What was read of the text, for as long as memory allows. */
  read?: WeakRef<JsonObject>;
  readonly receipt: Receipt | undefined;
  readonly since: number;
}

/**
 * A call with a key that pays with nothing but its balance, if with anything (callers make sure of it): its answer is never another one,
 * except for a refund.
 */
export type KeyedCall = Pick<CallAuthorization, "accountId" | "idempotencyKey" | "fingerprint">;

/** What is needed to remember answers. */
export interface ReplayCacheOptions {
  readonly clock: Clock;
  /** Where refunds are heard of; not started yet. */
  readonly notifications: Pick<Notifications, "live" | "subscribe">;
}

/**
 * The answers that this instance has stored a short while ago, so that a repeat is answered without a transaction. They are only looked at while it
 * is certain to hear of refunds: a receipt tells of its own. What is not found here the database knows.
 */
export class ReplayCache {
  readonly #options: ReplayCacheOptions;
  readonly #answers = new Lru<string, CachedResult>(MOST);
  /** Counts what was heard: an answer that was on its way before a refund is not remembered after it. */
  #generation = 0;

  constructor(options: ReplayCacheOptions) {
    this.#options = options;
    options.notifications.subscribe({
      channel: REFUND_CHANNEL,
      onMessage: (hex) => this.#forget(idFromUuid("run", hex)),
      onGap: () => this.#forgetAll(),
    });
  }

  /** What the ledger would tell of a repeat; undefined: ask it. */
  find(call: KeyedCall): Extract<AuthorizeResult, { kind: "replay" }> | undefined {
    const { notifications, clock } = this.#options;
    const answer = notifications.live ? this.#answers.get(cacheKey(call)) : undefined;
    const age = clock.now() - (answer?.since ?? Number.NaN);
    if (!answer || !(age >= 0 && age < REMEMBERED_MS) || !answer.fingerprint.equals(call.fingerprint))
      return undefined;
    const result = resultOf(answer);
    return result && { kind: "replay", result, receipt: answer.receipt };
  }

  /** To be called before the answer is stored. @returns remembers it, once it is */
  prepare(call: KeyedCall, text: string): (receipt: Receipt | undefined) => void {
    const generation = this.#generation;
    return (receipt) => {
      const { notifications, clock } = this.#options;
      if (text.length > LONGEST || generation !== this.#generation || !notifications.live) return;
      this.#answers.set(cacheKey(call), { fingerprint: call.fingerprint, text, receipt, since: clock.now() });
    };
  }

  #forget(runId: string): void {
    this.#generation++;
    this.#answers.deleteWhere(({ receipt }) => receipt?.runId === runId);
  }

  #forgetAll(): void {
    this.#generation++;
    this.#answers.clear();
  }
}

function resultOf(answer: CachedResult): JsonObject | undefined {
  const read = answer.read?.deref();
  if (read) return read;
  const result = parseCachedJson(answer.text);
  if (result) answer.read = new WeakRef(result);
  return result;
}

function cacheKey({ accountId, idempotencyKey }: KeyedCall): string {
  return `${accountId} ${idempotencyKey}`;
}
