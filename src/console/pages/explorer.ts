/** The explorer that links lead to. One constant: explorer.solana.com has the same paths, but that it says `address` for `account`. */
const EXPLORER = {
  name: "Solscan",
  host: "https://solscan.io",
  transaction: "tx",
  account: "account",
} as const;

/** What the links are called. */
export const EXPLORER_NAME = EXPLORER.name;

/** Page of a transaction. @param signature base58 */
export function transactionHref(signature: string): string {
  return `${EXPLORER.host}/${EXPLORER.transaction}/${encodeURIComponent(signature)}`;
}

/** Page of an address. @param address base58 */
export function accountHref(address: string): string {
  return `${EXPLORER.host}/${EXPLORER.account}/${encodeURIComponent(address)}`;
}
