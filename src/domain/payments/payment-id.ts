export interface PaymentId {
  /** Name of the network, such as `solana-mainnet`. */
  readonly network: string;
  /** Unique on its network: on Solana the transaction signature, base58 of 64 bytes. */
  readonly reference: string;
}

/** The only network (specification 8). */
export const SOLANA = "solana-mainnet";

/** Adds to the message of an offer that another chain than the public one is to be paid on, if so. */
export function withChain(message: string, rpcUrl: string | undefined): string {
  if (rpcUrl === undefined) return message;
  return `${message}. Pay only on the local chain of ${rpcUrl}: real USDC would be lost`;
}
