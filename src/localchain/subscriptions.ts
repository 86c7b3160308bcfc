import { isDeepStrictEqual } from "node:util";
import type { Address } from "@solana/kit";
import { newAccount, type AccountState } from "./account-store.ts";
import { ChainView } from "./chain-view.ts";
import { FINALIZED_AFTER_SLOTS, type Commitment } from "./commitment.ts";
import type { Chain } from "./engine.ts";
import type { Json } from "./json.ts";
import { encodeAccount } from "./rpc/accounts.ts";
import { withContext } from "./rpc/method.ts";
import type { Options } from "./rpc/params.ts";
import type { TransactionRecord } from "./transaction-record.ts";

/** Sends one notification's `result`. */
export type Notify = (result: Json) => void;

/** A subscription of one client; {@link Subscription.look} runs after every change of the chain. */
export interface Subscription {
  /** Name of the notification's `method`. */
  readonly notification: string;
  /** Sends new notifications; returns true after the last one. */
  look(): boolean;
}

/** Notifies once when a transaction reaches the commitment; the server then ends the subscription. */
export function signatureSubscription(
  chain: Chain,
  signature: string,
  commitment: Commitment,
  receivedToo: boolean,
  notify: Notify,
): Subscription {
  let received = !receivedToo;
  return {
    notification: "signatureNotification",
    look() {
      const view = new ChainView(chain);
      if (!received && view.transaction(signature, "processed") !== undefined) {
        received = true;
        notify(withContext(view, commitment, "receivedSignature"));
      }
      const record = view.transaction(signature, commitment);
      if (record === undefined) return false;
      notify(withContext(view, commitment, { err: record.err }));
      return true;
    },
  };
}

/** Notifies of every change of an account at the commitment. */
export function accountSubscription(
  chain: Chain,
  address: Address,
  options: Options,
  notify: Notify,
): Subscription {
  const commitment = options.commitment();
  const state = (): AccountState => new ChainView(chain).account(address, commitment);
  let last = state();
  return {
    notification: "accountNotification",
    look() {
      const now = state();
      if (isDeepStrictEqual(now, last)) return false;
      last = now;
      const view = new ChainView(chain);
      notify(withContext(view, commitment, encodeAccount(view, now ?? newAccount(address, 0n), options)));
      return false;
    },
  };
}

/** Notifies of transaction logs when they reach the commitment: all, or only those that name an address. */
export function logsSubscription(
  chain: Chain,
  mentions: Address | undefined,
  commitment: Commitment,
  notify: Notify,
): Subscription {
  /** Transactions at the commitment. Those outside the window were notified earlier. */
  const settled = (view: ChainView): readonly TransactionRecord[] =>
    chain.history
      .since(view.slot - 2 * FINALIZED_AFTER_SLOTS)
      .filter((record) => view.reached(record, commitment))
      .filter((record) => mentions === undefined || record.keys.all.includes(mentions));
  let notified = new Set(settled(new ChainView(chain)));
  return {
    notification: "logsNotification",
    look() {
      const view = new ChainView(chain);
      const records = settled(view);
      for (const record of records) {
        if (notified.has(record)) continue;
        const { signature } = record.transaction;
        notify(withContext(view, commitment, { signature, err: record.err, logs: record.logs }));
      }
      notified = new Set(records);
      return false;
    },
  };
}

/** Notifies of every new slot. */
export function slotSubscription(chain: Chain, notify: Notify): Subscription {
  let last = chain.slots.current;
  return {
    notification: "slotNotification",
    look() {
      const slot = chain.slots.current;
      if (slot === last) return false;
      last = slot;
      notify({ parent: slot - 1, root: new ChainView(chain).slotAt("finalized"), slot });
      return false;
    },
  };
}
