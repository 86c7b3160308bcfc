import type { Address } from "@solana/kit";
import { LiteSVM } from "litesvm";
import { resolveAccountKeys } from "./wire-transaction.ts";
import type { AccountKeys, WireTransaction, Simulation, TransactionRecord } from "./wire-transaction.ts";
import { readAccount, restoreAccount, type AccountState, MAINNET_GENESIS_HASH } from "./accounts.ts";
import { execute, refusal, simulate, type Position, type Refusal } from "./execution.ts";
import { installFaucet, installUsdc } from "./programs.ts";
import { MAX_PROCESSING_AGE, Slots } from "./slots.ts";

/** Events of the chain, for subscriptions and the journal. */
interface ChainListener {
  onTransaction?(record: TransactionRecord): void;
  onSlot?(slot: number): void;
  onDrop?(signature: string): void;
}

/** Options of a transaction; the defaults are the current slot and time. */
export type Entry = Partial<Position>;

/**
 * A Solana chain of one node: LiteSVM runs the transactions, this class adds slots, blockhashes that expire,
 * a history and forks. Everything is synchronous.
 */
export class Chain {
  readonly svm: LiteSVM;
  readonly slots: Slots;
  readonly history = new History();
  readonly genesisHash: string;
  readonly #listeners = new Set<ChainListener>();

  constructor(genesisHash: string = MAINNET_GENESIS_HASH) {
    this.genesisHash = genesisHash;
    this.slots = new Slots(genesisHash);
    // Blockhashes and duplicates are checked here: LiteSVM has one blockhash at a time.
    this.svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
    installFaucet(this.svm);
    installUsdc(this.svm);
    this.#setTime();
  }

  /** Registers a listener; the returned function removes it. */
  listen(listener: ChainListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The newest state of an account, before any commitment. */
  account(address: Address): AccountState {
    return readAccount(this.svm, address);
  }

  /** The accounts of a transaction; undefined if it names a lookup table that is not there. */
  accountKeys(transaction: WireTransaction): AccountKeys | undefined {
    return resolveAccountKeys(this.svm, transaction);
  }

  /** Produces `count` further blocks, empty ones. */
  advance(count = 1): void {
    this.moveTo(this.slots.current + count);
  }

  moveTo(slot: number): void {
    this.slots.moveTo(slot);
    this.#setTime();
    for (const listener of this.#listeners) listener.onSlot?.(this.slots.current);
  }

  /** Shifts the cluster's clock against the wall clock, as real clusters drift. */
  setTimeOffset(seconds: number): void {
    this.slots.timeOffsetSeconds = seconds;
    this.#setTime();
  }

  /** Why a transaction would not be accepted right now, before it is run. */
  admission(transaction: WireTransaction): Refusal | null {
    if (this.history.get(transaction.signature) !== undefined) return refusal("AlreadyProcessed");
    if (!this.slots.isBlockhashValid(transaction.message.lifetimeToken)) return refusal("BlockhashNotFound");
    return null;
  }

  /** Runs a transaction without keeping its effects, signatures checked or not. */
  simulate(transaction: WireTransaction, verifySignatures: boolean): Simulation {
    this.svm.withSigverify(verifySignatures);
    try {
      return simulate(this.svm, transaction);
    } finally {
      this.svm.withSigverify(true);
    }
  }

  /**
   * Adds a transaction to the current block. A failed one lands too and pays its fee. Refuses one that
   * cannot pay or is wrongly signed, expired or a duplicate.
   */
  submit(transaction: WireTransaction, entry: Entry = {}): TransactionRecord | Refusal {
    return this.admission(transaction) ?? this.#append(transaction, entry);
  }

  /** Runs a transaction that was accepted earlier again; its blockhash may have expired since. */
  replay(transaction: WireTransaction, position: Position): void {
    this.slots.moveTo(position.slot);
    this.#setTime(position.blockTime);
    this.#append(transaction, position);
  }

  /**
   * Moves the chain to a fork without this transaction: it and its effects vanish, everything after it runs
   * again. The client may send the same transaction again.
   *
   * @returns false if the chain has no such transaction
   */
  drop(signature: string): boolean {
    const [dropped, ...later] = this.history.cutFrom(signature);
    if (dropped === undefined) return false;
    for (const record of [dropped, ...later].reverse()) {
      for (const [address, state] of record.preImages) restoreAccount(this.svm, address, state);
    }
    for (const listener of this.#listeners) listener.onDrop?.(signature);
    for (const { transaction, slot, blockTime, rooted } of later) {
      const outcome = execute(this.svm, transaction, { slot, blockTime, rooted });
      if ("record" in outcome) this.history.add(outcome.record);
    }
    return true;
  }

  #append(transaction: WireTransaction, entry: Entry): TransactionRecord | Refusal {
    const blockTime = entry.blockTime ?? this.slots.unixSeconds();
    // The block's time is read once, so that the block and its transactions agree.
    if (entry.blockTime === undefined) this.slots.stamp(blockTime);
    const position: Position = {
      slot: entry.slot ?? this.slots.current,
      blockTime,
      rooted: entry.rooted ?? false,
    };
    const outcome = execute(this.svm, transaction, position);
    if ("refusal" in outcome) return outcome.refusal;
    this.history.add(outcome.record);
    for (const listener of this.#listeners) listener.onTransaction?.(outcome.record);
    return outcome.record;
  }

  /** Exposes the slot, the time and the recent blockhashes to programs through the sysvars. */
  #setTime(unixSeconds = this.slots.unixSeconds()): void {
    const { current } = this.slots;
    this.slots.stamp(unixSeconds);
    const clock = this.svm.getClock();
    clock.slot = BigInt(current);
    clock.unixTimestamp = BigInt(unixSeconds);
    this.svm.setClock(clock);
    const recent = Array.from({ length: MAX_PROCESSING_AGE }, (_none, age) => current - 1 - age);
    this.svm.setSlotHashes(recent.map((slot) => ({ slot: BigInt(slot), hash: this.slots.blockhash(slot) })));
  }
}

/** The transactions of the chain, in the order in which they ran, found by signature and by address. */
class History {
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
