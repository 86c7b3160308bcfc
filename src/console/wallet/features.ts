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

/** The chain that the gateway's USDC is on. */
export const CHAIN = "solana:mainnet";

/** All that the console may ask of a wallet. */
type Features = StandardConnectFeature &
  StandardDisconnectFeature &
  StandardEventsFeature &
  SolanaSignInFeature &
  SolanaSignMessageFeature &
  SolanaSignTransactionFeature &
  SolanaSignAndSendTransactionFeature;

/** Whether the wallet has the feature. That it has the feature's form is what Wallet Standard says. */
export function hasFeature<Name extends keyof Features>(
  wallet: Wallet,
  name: Name,
): wallet is Wallet & { features: Pick<Features, Name> } {
  return name in wallet.features;
}

/** Whether it is a wallet for Solana that the console can talk to at all. */
export function isSupportedWallet(wallet: Wallet): boolean {
  return wallet.chains.includes(CHAIN) && hasFeature(wallet, "standard:connect");
}
