import { getWallets } from "@wallet-standard/app";
import type { Wallet } from "@wallet-standard/base";
import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { readStored, store } from "../browser-storage.ts";
import { connect, type ConnectedWallet, hasFeature, CHAIN, isSupportedWallet } from "./connect.ts";

export interface Wallets {
  /** Supported wallets; updated as extensions register. */
  wallets: readonly Wallet[];
  connected: ConnectedWallet | undefined;
  /** Connects to a wallet. @throws WalletError */
  connect: (wallet: Wallet) => Promise<ConnectedWallet>;
  /** Stores the wallet's name for automatic connection on the next visit. */
  remember: (wallet: Wallet) => void;
}

const WalletsContext = createContext<Wallets | undefined>(undefined);
const KEY = "toolgate-wallet";

export function WalletProvider({ children }: { children: ReactNode }) {
  const wallets = useInstalledWallets();
  const [connected, setConnected] = useState<ConnectedWallet>();
  const remember = useCallback((wallet: Wallet) => {
    store(KEY, wallet.name);
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

export function useWallets(): Wallets {
  const wallets = use(WalletsContext);
  if (!wallets) throw new Error("useWallets was called outside of WalletProvider");
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

/** Connects to the last used wallet if it allows that silently. */
function useAutoConnect(
  wallets: readonly Wallet[],
  connected: ConnectedWallet | undefined,
  setConnected: (connected: ConnectedWallet) => void,
): void {
  const last = connected ? undefined : wallets.find(({ name }) => name === readStored(KEY));
  useEffect(() => {
    // Ignored: the wallet is queried again when needed.
    if (last) connect(last, true).then(setConnected, () => undefined);
  }, [last, setConnected]);
}

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
