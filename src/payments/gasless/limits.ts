/**
 * Cost limits of a relayed transaction. Fees are charged for requested units, used or not (Solana,
 * transaction fees).
 */

/** Lamports per signature; there are two. */
const SIGNATURE_LAMPORTS = 5_000n;
/** Compute units: several times what a transfer with a memo needs. */
export const MAX_UNITS = 60_000;
/** Additional compute units per guard. */
export const GUARD_UNITS = 10_000;
/** Phantom adds four guards, Solflare two. */
export const MAX_GUARDS = 4;
/** Micro-lamports per compute unit. With the maximum of units the fee is 15,000 lamports. */
export const MAX_UNIT_PRICE = 50_000n;

/** Network fee, lamports, for success and failure alike. */
export function feeOf({ units, price }: { units: number; price: bigint }): bigint {
  const microLamports = BigInt(units) * price;
  return 2n * SIGNATURE_LAMPORTS + (microLamports + 999_999n) / 1_000_000n;
}
