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
