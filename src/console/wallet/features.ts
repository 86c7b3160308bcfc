import type {
  SolanaSignAndSendTransactionFeature,
  SolanaSignInFeature,
  SolanaSignMessageFeature,
  SolanaSignTransactionFeature,
} from "@solana/wallet-standard-features";
import type { Wallet } from "@wallet-standard/base";
import type {
  StandardConnectFeature,
  StandardDisconnectFeature,
  StandardEventsFeature,
} from "@wallet-standard/features";

export const CHAIN = "solana:mainnet";

/** Wallet Standard features that the console uses. */
type Features = StandardConnectFeature &
  StandardDisconnectFeature &
  StandardEventsFeature &
  SolanaSignInFeature &
  SolanaSignMessageFeature &
  SolanaSignTransactionFeature &
  SolanaSignAndSendTransactionFeature;

/** Narrows the wallet to one with the feature; its shape is defined by Wallet Standard. */
export function hasFeature<Name extends keyof Features>(
  wallet: Wallet,
  name: Name,
): wallet is Wallet & { features: Pick<Features, Name> } {
  return name in wallet.features;
}

/** Whether the wallet supports Solana and can be connected. */
export function isSupportedWallet(wallet: Wallet): boolean {
  return wallet.chains.includes(CHAIN) && hasFeature(wallet, "standard:connect");
}
