import type { Wallet, WalletAccount } from "@wallet-standard/base";
import type {
  SolanaSignAndSendTransactionFeature,
  SolanaSignInFeature,
  SolanaSignMessageFeature,
  SolanaSignTransactionFeature,
} from "@solana/wallet-standard-features";
import type {
  StandardConnectFeature,
  StandardDisconnectFeature,
  StandardEventsFeature,
} from "@wallet-standard/features";

export interface ConnectedWallet {
  wallet: Wallet;
  account: WalletAccount;
}

/** Connects to the wallet. `silent` succeeds only if the site is already authorized. @throws WalletError */
export async function connect(wallet: Wallet, silent = false): Promise<ConnectedWallet> {
  if (!hasFeature(wallet, "standard:connect"))
    throw new WalletError("unable", `${wallet.name} cannot be connected`);
  try {
    const { accounts } = await wallet.features["standard:connect"].connect({ silent });
    const account = [...accounts, ...wallet.accounts].find(({ chains }) => chains.includes(CHAIN));
    if (!account)
      throw new WalletError(
        "account",
        `${wallet.name} shared no Solana account: select one in the wallet, then try again`,
      );
    return { wallet, account };
  } catch (error) {
    throw WalletError.of(error, wallet.name);
  }
}

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

export class WalletError extends Error {
  readonly kind: "rejected" | "unable" | "account" | "failed";

  constructor(kind: WalletError["kind"], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "WalletError";
    this.kind = kind;
  }

  /** Classifies a wallet's error by code (EIP-1193: 4001 is a rejection) or, without a standard, by text. */
  static of(thrown: unknown, wallet: string): WalletError {
    if (thrown instanceof WalletError) return thrown;
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    const code = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
    if (code === 4001 || /reject|denied|declin|cancel|refus|dismiss|closed/i.test(text))
      return new WalletError(
        "rejected",
        `You rejected the request in ${wallet}. Nothing was changed.`,
        thrown,
      );
    if (code === 4200 || /not supported|unsupported|not implemented|ledger|hardware/i.test(text))
      return new WalletError("unable", `${wallet} cannot do this with the chosen account: ${text}`, thrown);
    return new WalletError("failed", `${wallet} failed: ${text === "" ? "no error message" : text}`, thrown);
  }
}
