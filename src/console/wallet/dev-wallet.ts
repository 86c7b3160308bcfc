import { getWallets } from "@wallet-standard/app";
import { createSignInMessageText } from "@solana/wallet-standard-util";
import type { SolanaSignInInput } from "@solana/wallet-standard-features";
import { base58 } from "@scure/base";
import type { Wallet, WalletAccount } from "@wallet-standard/base";
import { CHAIN } from "./connect.ts";
import { addSignature } from "./wire-transaction.ts";

const ICON =
  "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCAzMiAzMiI+PHJlY3Qgd2lkdGg9IjMyIiBoZWlnaHQ9IjMyIiByeD0iOCIgZmlsbD0iIzcxNzc4NSIvPjxwYXRoIGQ9Ik0xMSAxMWwtNSA1IDUgNU0yMSAxMWw1IDUtNSA1TTE4IDlsLTQgMTQiIGZpbGw9Im5vbmUiIHN0cm9rZT0iI2ZmZiIgc3Ryb2tlLXdpZHRoPSIyLjUiIHN0cm9rZS1saW5lY2FwPSJyb3VuZCIgc3Ryb2tlLWxpbmVqb2luPSJyb3VuZCIvPjwvc3ZnPg==";

/** PKCS #8 header of an Ed25519 private key (RFC 8410 section 7); the 32-byte seed follows. */
const PKCS8 = Uint8Array.from([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32]);

/** Registers the development wallet. The gateway serves its key only in development on loopback. */
export async function registerDevWallet(): Promise<void> {
  const response = await fetch("/console/dev-wallet.json", { credentials: "same-origin" });
  const secretKey = readSecretKey(await response.json());
  const key = await crypto.subtle.importKey(
    "pkcs8",
    Uint8Array.from([...PKCS8, ...secretKey.subarray(0, 32)]),
    "Ed25519",
    false,
    ["sign"],
  );
  const publicKey = secretKey.slice(32);
  const sign = async (bytes: Uint8Array) =>
    new Uint8Array(await crypto.subtle.sign("Ed25519", key, Uint8Array.from(bytes)));
  const wallet = createWallet(publicKey, sign);
  const wallets = getWallets();
  if (!wallets.get().some(({ name }) => name === wallet.name)) wallets.register(wallet);
}

function createWallet(publicKey: Uint8Array, sign: (bytes: Uint8Array) => Promise<Uint8Array>): Wallet {
  const features = ["solana:signIn", "solana:signMessage", "solana:signTransaction"] as const;
  const account: WalletAccount = { address: base58.encode(publicKey), publicKey, chains: [CHAIN], features };
  const signMessage = async (message: Uint8Array) => ({
    signedMessage: message,
    signature: await sign(message),
  });
  return {
    version: "1.0.0",
    name: "Development wallet",
    icon: ICON,
    chains: [CHAIN],
    accounts: [account],
    features: {
      "standard:connect": { version: "1.0.0", connect: async () => ({ accounts: [account] }) },
      "solana:signIn": {
        version: "1.0.0",
        signIn: async (input: SolanaSignInInput = {}) => {
          const text = createSignInMessageText({
            ...input,
            domain: input.domain ?? location.host,
            address: account.address,
          });
          return [{ account, ...(await signMessage(new TextEncoder().encode(text))) }];
        },
      },
      "solana:signMessage": {
        version: "1.1.0",
        signMessage: (...inputs: readonly { message: Uint8Array }[]) =>
          Promise.all(inputs.map(({ message }) => signMessage(message))),
      },
      "solana:signTransaction": {
        version: "1.0.0",
        supportedTransactionVersions: ["legacy", 0],
        signTransaction: (...inputs: readonly { transaction: Uint8Array }[]) =>
          Promise.all(
            inputs.map(async ({ transaction }) => ({
              signedTransaction: await addSignature(transaction, publicKey, sign),
            })),
          ),
      },
    },
  };
}

function readSecretKey(answer: unknown): Uint8Array {
  const key =
    typeof answer === "object" && answer !== null && "secret_key" in answer ? answer.secret_key : undefined;
  if (!Array.isArray(key) || key.length !== 64) throw new Error("the gateway serves no development wallet");
  return Uint8Array.from(key, Number);
}
