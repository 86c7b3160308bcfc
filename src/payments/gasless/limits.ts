/** What one relayed transaction may cost: fees are paid for what is asked, used or not (Solana, transaction fees). */

/** Lamports per signature; there are two. */
const SIGNATURE_LAMPORTS = 5_000n;
/** Compute units of a transfer with its memo, several times over. */
export const MAX_UNITS = 60_000;
/** Compute units that a wallet's guard may ask for besides. */
export const GUARD_UNITS = 10_000;
/** Guards that a wallet may add: Phantom adds four, Solflare two. */
export const MAX_GUARDS = 4;
/** Micro-lamports per compute unit: with the most units that there can be, the fee is 15,000 lamports. */
export const MAX_UNIT_PRICE = 50_000n;

/** The fee that the network takes, lamports, whether the transaction succeeds or fails. */
export function feeOf({ units, price }: { units: number; price: bigint }): bigint {
  const microLamports = BigInt(units) * price;
  return 2n * SIGNATURE_LAMPORTS + (microLamports + 999_999n) / 1_000_000n;
}
