import { ed25519 } from "@noble/curves/ed25519";
import { toBase58 } from "./base58.ts";
import { sameBytes } from "./bytes.ts";
import { PaymentNotMadeError } from "./errors.ts";
import { decodeTransaction, encodeTransaction, type Transaction } from "./transaction.ts";

/** A public key as libraries have it: base58, or an object that has it. */
export type PublicKeyLike = string | { toBase58(): string };

/** Signs whole transactions: what wallets do. */
export interface TransactionSigner {
  readonly publicKey: PublicKeyLike;
  /** Takes and returns a transaction in wire form; must not change its message. */
  signTransactionBytes(transaction: Uint8Array): Promise<Uint8Array>;
  /** Returns the 64 bytes of the signature of a text. Needed to sign in. */
  signText?(text: Uint8Array): Promise<Uint8Array>;
}

/** Signs bytes with Ed25519: a raw key, a key in a vault. */
export interface BytesSigner {
  readonly publicKey: PublicKeyLike;
  /** The 64 bytes of the signature. */
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/** A wallet of the wallet adapter, or any that takes web3.js transactions. */
export interface AdapterWallet<Versioned> {
  readonly publicKey: PublicKeyLike | null;
  signTransaction?: ((transaction: Versioned) => Promise<Versioned>) | undefined;
  /** Returns the signature. Needed to sign in. */
  signMessage?: ((message: Uint8Array) => Promise<Uint8Array>) | undefined;
}

/** The class `VersionedTransaction` of web3.js 1, which such a wallet takes. */
export interface TransactionClass<Versioned extends { serialize(): Uint8Array }> {
  deserialize(bytes: Uint8Array): Versioned;
}

/** The feature `solana:signTransaction` of the wallet standard. */
export interface StandardWallet<Account extends { readonly address: string }> {
  readonly account: Account;
  signTransaction(
    ...inputs: { account: Account; transaction: Uint8Array; chain?: "solana:mainnet" }[]
  ): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
}

/** Who pays. */
export type Signer = TransactionSigner | BytesSigner;

/** A signer of a 64-byte secret key or web3.js Keypair. @throws TypeError if its halves do not match */
export function keypairSigner(keypair: { readonly secretKey: Uint8Array } | Uint8Array): BytesSigner {
  const key = keypair instanceof Uint8Array ? keypair : keypair.secretKey;
  const seed = Uint8Array.from(key.subarray(0, 32));
  if (key.length !== 64 || !sameBytes(ed25519.getPublicKey(seed), key.subarray(32)))
    throw new TypeError("secretKey: must be the 64 bytes of an Ed25519 key pair");
  return {
    publicKey: toBase58(key.subarray(32)),
    sign: (message) => ed25519.sign(message, seed),
  };
}

/** A signer of a wallet for web3.js transactions. @param transactions its class `VersionedTransaction` */
export function walletSigner<Versioned extends { serialize(): Uint8Array }>(
  wallet: AdapterWallet<Versioned>,
  transactions: TransactionClass<Versioned>,
): TransactionSigner {
  const { publicKey, signMessage } = wallet;
  if (!publicKey || !wallet.signTransaction)
    throw new TypeError("wallet: must be connected and able to sign transactions");
  return {
    publicKey,
    async signTransactionBytes(bytes) {
      const signed = await wallet.signTransaction?.(transactions.deserialize(bytes));
      if (!signed) throw new TypeError("wallet: signed nothing");
      return signed.serialize();
    },
    ...(signMessage && { signText: (text) => signMessage.call(wallet, text) }),
  };
}

/** A signer of a wallet of the wallet standard. */
export function standardWalletSigner<Account extends { readonly address: string }>(
  wallet: StandardWallet<Account>,
): TransactionSigner {
  return {
    publicKey: wallet.account.address,
    async signTransactionBytes(transaction) {
      const { account } = wallet;
      const [output] = await wallet.signTransaction({ account, transaction, chain: "solana:mainnet" });
      if (!output) throw new TypeError("wallet: signed nothing");
      return output.signedTransaction;
    },
  };
}

/** Whether the signer can sign in with its wallet. */
export function canSignText(signer: Signer): boolean {
  return "sign" in signer || signer.signText !== undefined;
}

/** @throws TypeError when the signer cannot sign a text */
export async function signText(signer: Signer, text: Uint8Array): Promise<Uint8Array> {
  if ("sign" in signer) return signer.sign(text);
  if (signer.signText) return signer.signText(text);
  throw new TypeError("signer: cannot sign a text, which a sign-in needs (signText)");
}

/** Base58. */
export function addressOf({ publicKey }: Signer): string {
  return typeof publicKey === "string" ? publicKey : publicKey.toBase58();
}

/** Has the payer sign. @param slot of its signature. @throws PaymentNotMadeError if refused or changed */
export async function signWith(signer: Signer, transaction: Transaction, slot: number): Promise<Transaction> {
  const { message, signatures } = transaction;
  try {
    if ("sign" in signer) {
      const signature = Uint8Array.from(await signer.sign(message));
      if (signature.length !== 64)
        throw new TypeError("sign: must return the 64 bytes of an Ed25519 signature");
      return { message, signatures: signatures.with(slot, signature) };
    }
    const signed = decodeTransaction(await signer.signTransactionBytes(encodeTransaction(transaction)));
    if (!sameBytes(signed.message, message)) throw new TypeError("the wallet changed the transaction");
    if (signed.signatures[slot]?.every((byte) => byte === 0) !== false)
      throw new TypeError("the wallet did not sign");
    return signed;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PaymentNotMadeError(`the payment was not signed: ${reason}`, undefined, { cause: error });
  }
}
