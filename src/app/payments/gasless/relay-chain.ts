/** A blockhash on which callers can build a transaction. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** Chain queries of the relay. Methods throw ToolgateError UNAVAILABLE when no endpoint answers. */
export interface RelayChain {
  latestBlockhash(signal: AbortSignal): Promise<RecentBlockhash>;
  /**
   * Whether the blockhash is valid, and the block height from the same endpoint afterwards: a valid
   * blockhash expires within 150 blocks of that height.
   */
  blockhashStatus(blockhash: string, signal: AbortSignal): Promise<{ valid: boolean; blockHeight: bigint }>;
  /**
   * Simulates the transaction with signature checks at `processed`. @returns the failure; undefined on
   * success
   */
  simulate(signedTransaction: Uint8Array, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Sends to every endpoint; one that already has it counts as success. @throws ToolgateError UNAVAILABLE
   * when all fail
   */
  send(signedTransaction: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * Outcome over all endpoints: `absent` only when every endpoint reports it; `expired` when the block
   * height has passed `lastValidBlockHeight` by a margin, so that an absent transaction can no longer land.
   */
  outcome(query: {
    txSignature: string;
    lastValidBlockHeight: bigint;
    signal: AbortSignal;
  }): Promise<
    { kind: "confirmed" } | { kind: "failed"; reason: string } | { kind: "absent"; expired: boolean }
  >;
  /** Balance of the fee payer, lamports. */
  balance(address: string, signal: AbortSignal): Promise<bigint>;
}
