import type { Wallet } from "@wallet-standard/base";
import { Note } from "../ui/index.ts";
import { useWallets } from "./wallet-provider.tsx";

/** Buttons for the installed wallets. `busy` is the name of the one in use. */
export function WalletButtons({
  busy,
  onChoose,
}: {
  busy?: string | undefined;
  onChoose: (wallet: Wallet) => void;
}) {
  const { wallets } = useWallets();
  if (wallets.length === 0) return <NoWallet />;
  return (
    <ul className="wallets">
      {wallets.map((wallet) => (
        <li key={wallet.name}>
          <button
            type="button"
            className="wallet"
            disabled={busy !== undefined}
            aria-busy={busy === wallet.name || undefined}
            onClick={() => onChoose(wallet)}
          >
            <img src={wallet.icon} alt="" width="28" height="28" />
            <span className="wallet-name">{wallet.name}</span>
            <span className="faint">{busy === wallet.name ? "Confirm in the wallet…" : ""}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function NoWallet() {
  return (
    <Note title="No Solana wallet found in this browser">
      <p>
        Install Phantom (phantom.com), Solflare (solflare.com) or Backpack (backpack.app); it appears here.
      </p>
      <p>On a phone, open this page in the wallet's own browser.</p>
    </Note>
  );
}
