import type { MicroUsd } from "../../domain/core/money.ts";

/** A payment that a wallet signs and pays the network fee of. */
export interface WalletPayment {
  /** Base58. */
  readonly payer: string;
  /** Micro-USD. */
  readonly amount: MicroUsd;
  readonly memo: string;
  /** Base58; undefined: no reference. */
  readonly reference: string | undefined;
}

/** Payments of wallets that pay the network fee themselves. */
export interface WalletPayments {
  /**
   * Builds an unsigned payment to the treasury in wire format.
   * @throws ToolgateError INVALID_REQUEST for an address that is no wallet or cannot pay; UNAVAILABLE
   */
  build(payment: WalletPayment, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Simulates and sends a signed transaction. Idempotent.
   * @throws ToolgateError INVALID_REQUEST when the network rejects it; UNAVAILABLE
   */
  send(transaction: Uint8Array, signal: AbortSignal): Promise<void>;
}

export interface SignedPayment {
  /** Base58. */
  readonly txSignature: string;
  /** The one memo in our format. */
  readonly memo: string;
}

/**
 * Parses a wallet-signed transaction.
 * @throws ToolgateError INVALID_REQUEST unless it is one signed USDC payment to the treasury with one memo
 * in our format
 */
export type ReadSignedPayment = (transaction: Uint8Array) => SignedPayment;
