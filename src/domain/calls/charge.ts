import type { MicroUsd } from "../core/money.ts";

/** Least charge of a metered call: a receipt over nothing would have no transfer. */
const LEAST: MicroUsd = 1n;

/**
 * Returns what a completed call is charged: what it used, at most what is held for it.
 * @param used as its tool reports it
 */
export function chargeOf(held: MicroUsd, used: MicroUsd): MicroUsd {
  if (used >= held) return held;
  return used > LEAST ? used : LEAST;
}
