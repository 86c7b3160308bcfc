import type { MicroUsd } from "../../domain/core/money.ts";

/** A payment that a wallet is to sign, and to pay the fee of. */
export interface WalletPayment {
  /** Base58. */
  readonly payer: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly memo: string;
  /** Base58; undefined: the transfer names none. */
  readonly reference: string | undefined;
}

/** Payments of wallets that pay the network's fee themselves. */
export interface WalletPayments {
  /**
   * Makes the transaction of a payment to the treasury, unsigned, in its wire form.
   * @throws ToolgateError INVALID_REQUEST when the wallet is none, or cannot pay; UNAVAILABLE
   */
  build(payment: WalletPayment, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Brings a signed transaction to the network, after the network has tried it. Sent again, it is sent once.
   * @throws ToolgateError INVALID_REQUEST when the network refuses it, in words; UNAVAILABLE
   */
  send(transaction: Uint8Array, signal: AbortSignal): Promise<void>;
}

/** A signed payment, read from its bytes. */
export interface SignedPayment {
  /** Base58. */
  readonly txSignature: string;
  /** The one memo of ours. */
  readonly memo: string;
}

/**
 * Reads what a wallet has signed.
 * @throws ToolgateError INVALID_REQUEST for anything but one signed payment of USDC to the treasury with one memo of ours
 */
export type ReadSignedPayment = (transaction: Uint8Array) => SignedPayment;
