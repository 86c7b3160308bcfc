/**
 * The explorer that links point to. explorer.solana.com has the same paths, except `address` for `account`.
 */
const EXPLORER = {
  name: "Solscan",
  host: "https://solscan.io",
  transaction: "tx",
  account: "account",
} as const;

/** Name of the explorer. */
export const EXPLORER_NAME = EXPLORER.name;

/** Returns the explorer URL of a transaction. @param signature base58 */
export function transactionHref(signature: string): string {
  return `${EXPLORER.host}/${EXPLORER.transaction}/${encodeURIComponent(signature)}`;
}

/** Returns the explorer URL of an address. @param address base58 */
export function accountHref(address: string): string {
  return `${EXPLORER.host}/${EXPLORER.account}/${encodeURIComponent(address)}`;
}
