import { getWallets } from "@wallet-standard/app";
import type { Wallet } from "@wallet-standard/base";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { connect, type ConnectedWallet } from "./connect.ts";
import { hasFeature, CHAIN, isSupportedWallet } from "./features.ts";

/** The wallets of this browser, and the one that is connected. */
export interface Wallets {
  /** Those for Solana; one more or less whenever an extension says so. */
  wallets: readonly Wallet[];
  /** The one that was connected last, with the account that it shows now. */
  connected: ConnectedWallet | undefined;
  /** Connects a wallet. @throws WalletError */
  connect: (wallet: Wallet) => Promise<ConnectedWallet>;
  /** Keeps a wallet in mind that has signed in: it is connected without a question the next time. */
  remember: (wallet: Wallet) => void;
}

const WalletsContext = createContext<Wallets | undefined>(undefined);
const KEY = "toolgate-wallet";

/** Looks for wallets for as long as the page is open. */
export function WalletProvider({ children }: { children: ReactNode }) {
  const wallets = useInstalledWallets();
  const [connected, setConnected] = useState<ConnectedWallet>();
  const remember = useCallback((wallet: Wallet) => {
    try {
      localStorage.setItem(KEY, wallet.name);
    } catch {
      // It is asked for again then.
    }
    const account = wallet.accounts.find(({ chains }) => chains.includes(CHAIN));
    if (account) setConnected({ wallet, account });
  }, []);
  const connectWallet = useCallback(
    async (wallet: Wallet) => {
      const now = await connect(wallet);
      setConnected(now);
      remember(wallet);
      return now;
    },
    [remember],
  );
  useAutoConnect(wallets, connected, setConnected);
  useAccountChanges(connected, setConnected);
  const value = useMemo(
    () => ({ wallets, connected, connect: connectWallet, remember }),
    [wallets, connected, connectWallet, remember],
  );
  return <WalletsContext value={value}>{children}</WalletsContext>;
}

/** The wallets of this browser. */
export function useWallets(): Wallets {
  const wallets = use(WalletsContext);
  if (!wallets) throw new Error("there is no WalletProvider above");
  return wallets;
}

function useInstalledWallets(): readonly Wallet[] {
  const [installed, setInstalled] = useState<readonly Wallet[]>([]);
  useEffect(() => {
    const known = getWallets();
    const look = () => setInstalled(known.get().filter(isSupportedWallet));
    look();
    const ends = [known.on("register", look), known.on("unregister", look)];
    if (document.querySelector("meta[name=toolgate-dev-wallet]")) void addDevWallet();
    return () => {
      for (const end of ends) end();
    };
  }, []);
  return installed;
}

async function addDevWallet(): Promise<void> {
  const { registerDevWallet } = await import("./dev-wallet.ts");
  await registerDevWallet();
}

/** Connects the wallet of the last visit, if it lets that happen without a question. */
function useAutoConnect(
  wallets: readonly Wallet[],
  connected: ConnectedWallet | undefined,
  setConnected: (connected: ConnectedWallet) => void,
): void {
  const last = connected ? undefined : wallets.find(({ name }) => name === remembered());
  useEffect(() => {
    // What it refuses now it is asked for when it is needed.
    if (last) connect(last, true).then(setConnected, () => undefined);
  }, [last, setConnected]);
}

/** Follows the person from account to account within the wallet. */
function useAccountChanges(
  connected: ConnectedWallet | undefined,
  setConnected: (connected: ConnectedWallet | undefined) => void,
): void {
  const wallet = connected?.wallet;
  useEffect(() => {
    if (!wallet || !hasFeature(wallet, "standard:events")) return undefined;
    return wallet.features["standard:events"].on("change", ({ accounts }) => {
      if (!accounts) return;
      const account = accounts.find(({ chains }) => chains.includes(CHAIN));
      setConnected(account && { wallet, account });
    });
  }, [wallet, setConnected]);
}

function remembered(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
