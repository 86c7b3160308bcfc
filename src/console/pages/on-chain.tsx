import { Copyable, ExternalLink } from "../ui/index.ts";

export function Transaction({ signature }: { signature: string }) {
  return (
    <span className="row">
      <Copyable text={signature} label="signature" short />
      <ExternalLink href={transactionHref(signature)}>{EXPLORER_NAME}</ExternalLink>
      {isLocalChain() && <span className="hint">local chain, not on {EXPLORER_NAME}</span>}
    </span>
  );
}

export function Address({ address, label }: { address: string; label: string }) {
  return (
    <span className="row">
      <Copyable text={address} label={label} short />
      <ExternalLink href={accountHref(address)}>{EXPLORER_NAME}</ExternalLink>
    </span>
  );
}

/** Whether the gateway runs a local chain: only then it offers the development wallet. */
function isLocalChain(): boolean {
  return document.querySelector("meta[name=toolgate-dev-wallet]") !== null;
}

/** The explorer of links. explorer.solana.com has the same paths, except `address` for `account`. */
const EXPLORER = {
  name: "Solscan",
  host: "https://solscan.io",
  transaction: "tx",
  account: "account",
} as const;

const EXPLORER_NAME = EXPLORER.name;

/** Returns the explorer URL of a transaction. @param signature base58 */
export function transactionHref(signature: string): string {
  return `${EXPLORER.host}/${EXPLORER.transaction}/${encodeURIComponent(signature)}`;
}

/** Returns the explorer URL of an address. @param address base58 */
function accountHref(address: string): string {
  return `${EXPLORER.host}/${EXPLORER.account}/${encodeURIComponent(address)}`;
}
