import { createKeyPairSignerFromBytes, signBytes } from "@solana/kit";
import type { Keypair } from "@solana/web3.js";

/** Signs messages for the official x402 client, as wallet adapters do. */
export async function walletSigner({ secretKey }: Keypair) {
  const { address, keyPair } = await createKeyPairSignerFromBytes(secretKey);
  const signMessage = (message: Uint8Array) => signBytes(keyPair.privateKey, message);
  return { publicKey: address, signMessage };
}
