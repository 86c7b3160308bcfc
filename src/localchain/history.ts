import type { Address } from "@solana/kit";
import type { TransactionRecord } from "./transaction-record.ts";

/** The transactions of the chain, in the order in which they ran, found by signature and by address. */
export class History {
  readonly #records: TransactionRecord[] = [];
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #byAddress = new Map<Address, TransactionRecord[]>();

  get size(): number {
    return this.#records.length;
  }

  get(signature: string): TransactionRecord | undefined {
    return this.#bySignature.get(signature);
  }

  /** Transactions that name the address in any role, oldest first. */
  touching(address: Address): readonly TransactionRecord[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** Transactions that landed after a slot, oldest first. */
  since(slot: number): readonly TransactionRecord[] {
    const older = this.#records.findLastIndex((record) => record.slot <= slot);
    return this.#records.slice(older + 1);
  }

  add(record: TransactionRecord): void {
    this.#records.push(record);
    this.#bySignature.set(record.transaction.signature, record);
    for (const address of new Set(record.keys.all)) {
      const records = this.#byAddress.get(address);
      if (records === undefined) this.#byAddress.set(address, [record]);
      else records.push(record);
    }
  }

  /**
   * Removes a transaction and all later ones from the history.
   *
   * @returns the removed ones, oldest first; empty if the signature is unknown
   */
  cutFrom(signature: string): readonly TransactionRecord[] {
    const first = this.#bySignature.get(signature);
    if (first === undefined) return [];
    const removed = this.#records.splice(this.#records.lastIndexOf(first));
    for (const record of removed) {
      this.#bySignature.delete(record.transaction.signature);
      for (const address of new Set(record.keys.all)) {
        const rest = this.touching(address).filter((each) => !removed.includes(each));
        this.#byAddress.set(address, rest);
      }
    }
    return removed;
  }
}
