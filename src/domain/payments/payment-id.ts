export interface PaymentId {
  /** Name of the network, such as `solana-mainnet`. */
  readonly network: string;
  /** Unique on its network: on Solana the transaction signature, base58 of 64 bytes. */
  readonly reference: string;
}

/** The only network (specification 8). */
export const SOLANA = "solana-mainnet";
