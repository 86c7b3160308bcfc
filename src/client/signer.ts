import { Keypair, VersionedTransaction } from "@solana/web3.js";
import { sameBytes } from "./bytes.ts";
import { PaymentNotMadeError } from "./errors.ts";

/** A public key as libraries have it: base58, or an object that has it. */
export type PublicKeyLike = string | { toBase58(): string };

/** Signs whole transactions: what wallets do. */
export interface TransactionSigner {
  readonly publicKey: PublicKeyLike;
  /** Takes and returns a transaction in wire form; must not change its message. */
  signTransactionBytes(transaction: Uint8Array): Promise<Uint8Array>;
}

/** Signs bytes with Ed25519: a raw key, a key in a vault. */
export interface BytesSigner {
  readonly publicKey: PublicKeyLike;
  /** The 64 bytes of the signature. */
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/** A wallet of the wallet adapter, or any that takes web3.js transactions. */
export interface AdapterWallet {
  readonly publicKey: PublicKeyLike | null;
  signTransaction?: ((transaction: VersionedTransaction) => Promise<VersionedTransaction>) | undefined;
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

/** A signer of a web3.js Keypair, or of its 64-byte secret key. */
export function keypairSigner(keypair: { readonly secretKey: Uint8Array } | Uint8Array): TransactionSigner {
  const pair = Keypair.fromSecretKey(keypair instanceof Uint8Array ? keypair : keypair.secretKey);
  return {
    publicKey: pair.publicKey,
    async signTransactionBytes(bytes) {
      const transaction = VersionedTransaction.deserialize(bytes);
      transaction.sign([pair]);
      return transaction.serialize();
    },
  };
}

/**
 * A signer of a wallet that takes web3.js transactions (the wallet adapter's `useWallet()`, `window.solana`).
 */
export function walletSigner(wallet: AdapterWallet): TransactionSigner {
  const { publicKey } = wallet;
  if (!publicKey || !wallet.signTransaction)
    throw new TypeError("wallet: must be connected and able to sign transactions");
  return {
    publicKey,
    async signTransactionBytes(bytes) {
      const signed = await wallet.signTransaction?.(VersionedTransaction.deserialize(bytes));
      if (!signed) throw new TypeError("wallet: signed nothing");
      return signed.serialize();
    },
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

/** Base58. */
export function addressOf({ publicKey }: Signer): string {
  return typeof publicKey === "string" ? publicKey : publicKey.toBase58();
}

/**
 * Has the payer sign the given transaction.
 * @throws PaymentNotMadeError when the signer refuses or returns another transaction
 */
export async function signWith(
  signer: Signer,
  transaction: VersionedTransaction,
): Promise<VersionedTransaction> {
  const message = transaction.message.serialize();
  const slot = transaction.message.staticAccountKeys.findIndex((key) => key.toBase58() === addressOf(signer));
  try {
    if ("sign" in signer) {
      const signature = await signer.sign(message);
      if (signature.length !== 64)
        throw new TypeError("sign: must return the 64 bytes of an Ed25519 signature");
      transaction.signatures[slot] = signature;
      return transaction;
    }
    const signed = VersionedTransaction.deserialize(
      await signer.signTransactionBytes(transaction.serialize()),
    );
    if (!sameBytes(signed.message.serialize(), message))
      throw new TypeError("the wallet changed the transaction");
    if (signed.signatures[slot]?.every((byte) => byte === 0) !== false)
      throw new TypeError("the wallet did not sign");
    return signed;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new PaymentNotMadeError(`the payment was not signed: ${reason}`, undefined, { cause: error });
  }
}
