import { Copyable, ExternalLink } from "../ui/index.ts";
import { accountHref, EXPLORER_NAME, transactionHref } from "./explorer.ts";

/** A transaction signature with a link to the explorer. */
export function Transaction({ signature }: { signature: string }) {
  return (
    <span className="row">
      <Copyable text={signature} label="signature" short />
      <ExternalLink href={transactionHref(signature)}>{EXPLORER_NAME}</ExternalLink>
      {isLocalChain() && <span className="hint">local chain, not on {EXPLORER_NAME}</span>}
    </span>
  );
}

/** An address with a link to the explorer. */
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
