import { base58 } from "@scure/base";
import { type ConnectedWallet, hasFeature, CHAIN, WalletError } from "./connect.ts";

/** A signed transaction to submit, or the signature if the wallet submitted it. */
export type Signed = { kind: "signed"; transaction: Uint8Array } | { kind: "sent"; signature: string };

/** Asks the wallet to sign a transaction. @throws WalletError if it is rejected or cannot be signed */
export async function signTransaction(
  { wallet, account }: ConnectedWallet,
  transaction: Uint8Array,
): Promise<Signed> {
  try {
    if (hasFeature(wallet, "solana:signTransaction")) {
      const [output] = await wallet.features["solana:signTransaction"].signTransaction({
        account,
        transaction,
        chain: CHAIN,
      });
      if (output) return { kind: "signed", transaction: output.signedTransaction };
    } else if (hasFeature(wallet, "solana:signAndSendTransaction")) {
      const [output] = await wallet.features["solana:signAndSendTransaction"].signAndSendTransaction({
        account,
        transaction,
        chain: CHAIN,
      });
      if (output) return { kind: "sent", signature: base58.encode(output.signature) };
    }
  } catch (error) {
    throw WalletError.of(error, wallet.name);
  }
  throw new WalletError("unable", `${wallet.name} cannot sign transactions: choose another wallet`);
}
