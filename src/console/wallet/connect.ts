import type { Wallet, WalletAccount } from "@wallet-standard/base";
import { hasFeature, CHAIN } from "./features.ts";
import { WalletError } from "./wallet-error.ts";

/** A wallet with its selected account. */
export interface ConnectedWallet {
  wallet: Wallet;
  account: WalletAccount;
}

/**
 * Connects to the wallet. `silent` succeeds only if the site is already authorized.
 * @throws WalletError
 */
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
