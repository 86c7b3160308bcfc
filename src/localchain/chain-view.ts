import type { Address } from "@solana/kit";
import type { AccountState } from "./accounts.ts";
import { COMMITMENTS, FINALIZED_AFTER_SLOTS, slotsUntil, type Commitment } from "./slots.ts";
import type { Chain } from "./engine.ts";
import type { TransactionRecord } from "./wire-transaction.ts";

/** The chain as a client sees it: at a commitment, possibly through a lagging node. */
export class ChainView {
  readonly chain: Chain;
  /** The node's newest slot. */
  readonly slot: number;

  constructor(chain: Chain, lagSlots = 0) {
    this.chain = chain;
    this.slot = chain.slots.current - lagSlots;
  }

  /** The newest slot that has reached the commitment. */
  slotAt(commitment: Commitment): number {
    return this.slot - slotsUntil(commitment);
  }

  reached(record: TransactionRecord, commitment: Commitment): boolean {
    return record.rooted ? record.slot <= this.slot : record.slot <= this.slotAt(commitment);
  }

  /** The strongest commitment a transaction has reached; undefined if this node has not seen it. */
  commitmentOf(record: TransactionRecord): Commitment | undefined {
    return COMMITMENTS.findLast((commitment) => this.reached(record, commitment));
  }

  /** Blocks on top of a transaction's, null once it is rooted (`getSignatureStatuses`). */
  confirmations(record: TransactionRecord): number | null {
    return this.reached(record, "finalized") ? null : this.slot - record.slot;
  }

  transaction(signature: string, commitment: Commitment): TransactionRecord | undefined {
    const record = this.chain.history.get(signature);
    return record !== undefined && this.reached(record, commitment) ? record : undefined;
  }

  /**
   * The state of an account at a commitment: before the first transaction that has not reached it. Only the
   * last {@link FINALIZED_AFTER_SLOTS} slots can contain such transactions.
   */
  account(address: Address, commitment: Commitment): AccountState {
    let state = this.chain.account(address);
    const touching = this.chain.history.touching(address);
    for (let index = touching.length - 1; index >= 0; index--) {
      const record = touching[index];
      if (record === undefined || record.slot <= this.slot - FINALIZED_AFTER_SLOTS) break;
      const before = record.preImages.get(address);
      if (before !== undefined && !this.reached(record, commitment)) state = before;
    }
    return state;
  }
}
