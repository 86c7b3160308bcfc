import { createSignInMessageText } from "@solana/wallet-standard-util";
import type { SolanaSignInInput } from "@solana/wallet-standard-features";
import { Connection, VersionedTransaction, type Keypair } from "@solana/web3.js";
import type { BrowserContext } from "playwright-core";
import { signed as signatureOf } from "../support/console.ts";
import { registerWallet } from "./wallet-in-page.ts";

/** Features of a wallet besides connecting. */
export type Ability = "signIn" | "signMessage" | "signTransaction" | "signAndSendTransaction";

/** A Wallet Standard wallet. Its key stays in the test process; the page receives signatures only. */
export interface TestWallet {
  readonly name: string;
  readonly keypair: Keypair;
  readonly abilities: readonly Ability[];
  /** Whether the user rejects requests from now on. */
  rejects: boolean;
  readonly requests: Ability[];
  readonly rpcUrl: string | undefined;
}

/** Features of most wallets. */
const DEFAULT_ABILITIES: readonly Ability[] = ["signIn", "signMessage", "signTransaction"];

export function testWallet(
  keypair: Keypair,
  {
    name = "Test wallet",
    abilities = DEFAULT_ABILITIES,
    rejects = false,
    rpcUrl,
  }: Partial<Omit<TestWallet, "keypair">> = {},
): TestWallet {
  return { name, keypair, abilities, rejects, requests: [], rpcUrl };
}

export function walletWithoutSignIn(keypair: Keypair): TestWallet {
  return testWallet(keypair, { name: "Plain wallet", abilities: ["signMessage", "signTransaction"] });
}

export function ledgerWallet(keypair: Keypair): TestWallet {
  return testWallet(keypair, { name: "Ledger", abilities: ["signTransaction"] });
}

/** Installs wallets in a context before its first page. */
export async function installWallets(context: BrowserContext, wallets: readonly TestWallet[]): Promise<void> {
  for (const [index, wallet] of wallets.entries()) {
    const binding = `testWallet${index}`;
    await context.exposeBinding(binding, (_source, ability: Ability, argument: unknown) =>
      answer(wallet, ability, argument),
    );
    await context.addInitScript(registerWallet, {
      binding,
      name: wallet.name,
      abilities: wallet.abilities,
      address: wallet.keypair.publicKey.toBase58(),
      publicKey: [...wallet.keypair.publicKey.toBytes()],
    });
  }
}

/** Bindings pass bytes as numbers. */
async function answer(
  wallet: TestWallet,
  ability: Ability,
  argument: unknown,
): Promise<Record<string, number[]>> {
  wallet.requests.push(ability);
  if (wallet.rejects) throw Object.assign(new Error("User rejected the request."), { code: 4001 });
  const address = wallet.keypair.publicKey.toBase58();
  switch (ability) {
    case "signIn": {
      const input = argument as SolanaSignInInput & { domain: string };
      return signed(wallet, new TextEncoder().encode(createSignInMessageText({ ...input, address })));
    }
    case "signMessage":
      return signed(wallet, Uint8Array.from(argument as number[]));
    case "signTransaction":
      return { signedTransaction: [...signTransaction(wallet, argument as number[]).serialize()] };
    case "signAndSendTransaction": {
      const transaction = signTransaction(wallet, argument as number[]);
      if (wallet.rpcUrl === undefined) throw new Error("this wallet has no chain to send to");
      await new Connection(wallet.rpcUrl).sendRawTransaction(transaction.serialize(), {
        skipPreflight: true,
      });
      return { signature: [...(transaction.signatures[0] ?? [])] };
    }
  }
}

function signed({ keypair }: TestWallet, message: Uint8Array): Record<string, number[]> {
  return { signedMessage: [...message], signature: [...signatureOf(keypair, message)] };
}

function signTransaction({ keypair }: TestWallet, bytes: readonly number[]): VersionedTransaction {
  const transaction = VersionedTransaction.deserialize(Uint8Array.from(bytes));
  transaction.sign([keypair]);
  return transaction;
}
