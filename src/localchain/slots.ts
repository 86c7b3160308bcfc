import { createHash } from "node:crypto";
import { base58 } from "@scure/base";

/** A blockhash is accepted for this many blocks (Solana docs, "Transaction confirmation & expiration"). */
export const MAX_PROCESSING_AGE = 150;
/** How many recent blockhashes and signature statuses a validator keeps in memory. */
export const MAX_RECENT_BLOCKHASHES = 300;
/** How many block times are kept: about an hour of 400 ms slots. */
const MAX_BLOCK_TIMES = 9_000;
/** First slot of the chain. */
const FIRST_SLOT = 1_000;
/** Slots without a block before the first one, so that slots and block heights differ. */
const SKIPPED_SLOTS = 100;

/**
 * The chain's clock: one block per slot, each with a blockhash derived from the genesis hash and the slot,
 * so that a restored chain accepts the blockhashes it issued before.
 */
export class Slots {
  readonly #genesisHash: string;
  readonly #slotOfBlockhash = new Map<string, number>();
  readonly #blockhashes = new Map<number, string>();
  readonly #times = new Map<number, number>();
  #current = FIRST_SLOT;
  /** Seconds added to the wall clock. */
  timeOffsetSeconds = 0;

  constructor(genesisHash: string) {
    this.#genesisHash = genesisHash;
    this.#remember(FIRST_SLOT - MAX_RECENT_BLOCKHASHES + 1, FIRST_SLOT);
  }

  get current(): number {
    return this.#current;
  }

  /** Moves to a later slot; an earlier one is ignored, slots never go back. */
  moveTo(slot: number): void {
    if (slot <= this.#current) return;
    this.#remember(Math.max(this.#current + 1, slot - MAX_RECENT_BLOCKHASHES + 1), slot);
    this.#current = slot;
  }

  /** Unix time of the cluster, seconds: the block time of a transaction that lands now. */
  unixSeconds(): number {
    return Math.floor(Date.now() / 1000) + this.timeOffsetSeconds;
  }

  /** Unix time of a block, seconds; null for a skipped or too old one. */
  blockTime(slot: number): number | null {
    return this.#times.get(slot) ?? null;
  }

  /** Keeps the time of the current block. */
  stamp(unixSeconds: number): void {
    this.#times.delete(this.#current);
    this.#times.set(this.#current, unixSeconds);
    const [oldest] = this.#times.keys();
    if (this.#times.size > MAX_BLOCK_TIMES && oldest !== undefined) this.#times.delete(oldest);
  }

  blockHeight(slot = this.#current): number {
    return Math.max(0, slot - SKIPPED_SLOTS);
  }

  blockhash(slot: number): string {
    return this.#blockhashes.get(slot) ?? this.#derive(slot);
  }

  /** Last block height at which a transaction with the blockhash of `slot` is accepted. */
  lastValidBlockHeight(slot: number): number {
    return this.blockHeight(slot) + MAX_PROCESSING_AGE;
  }

  /** Whether a transaction that names this blockhash would be accepted in the current slot. */
  isBlockhashValid(blockhash: string): boolean {
    const slot = this.#slotOfBlockhash.get(blockhash);
    return slot !== undefined && this.blockHeight() <= this.lastValidBlockHeight(slot);
  }

  #derive(slot: number): string {
    return base58.encode(createHash("sha256").update(`${this.#genesisHash}:${slot}`).digest());
  }

  #remember(from: number, to: number): void {
    for (let slot = from; slot <= to; slot++) {
      const blockhash = this.#derive(slot);
      this.#blockhashes.set(slot, blockhash);
      this.#slotOfBlockhash.set(blockhash, slot);
    }
    for (const [slot, blockhash] of this.#blockhashes) {
      if (this.#blockhashes.size <= MAX_RECENT_BLOCKHASHES) break;
      this.#blockhashes.delete(slot);
      this.#slotOfBlockhash.delete(blockhash);
    }
  }
}

/** The commitment that a client requires of a transaction (Solana docs, "Commitment"). */
export const COMMITMENTS = ["processed", "confirmed", "finalized"] as const;
export type Commitment = (typeof COMMITMENTS)[number];

/** A block is confirmed as soon as the next one exists: two thirds of the stake voted for it. */
const CONFIRMED_AFTER_SLOTS = 1;
/** Lock-out of 31 further confirmed blocks roots a block. */
export const FINALIZED_AFTER_SLOTS = 32;

/** Slots that have to follow a block before it has reached the commitment. */
export function slotsUntil(commitment: Commitment): number {
  if (commitment === "finalized") return FINALIZED_AFTER_SLOTS;
  return commitment === "confirmed" ? CONFIRMED_AFTER_SLOTS : 0;
}
