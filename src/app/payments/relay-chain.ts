/** A blockhash that callers may build on. */
export interface RecentBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** What is asked of the chain to relay. Methods throw ToolgateError UNAVAILABLE when no endpoint can be asked. */
export interface RelayChain {
  latestBlockhash(signal: AbortSignal): Promise<RecentBlockhash>;
  /**
   * Whether the blockhash can still be built on, and the block height, asked of the same endpoint after that: whatever the endpoint knows
   * ends within 150 blocks of it.
   */
  blockhashStatus(blockhash: string, signal: AbortSignal): Promise<{ valid: boolean; blockHeight: bigint }>;
  /** Runs it without sending, signatures checked, at `processed`. @returns why it would fail; undefined: it would not */
  simulate(signedTransaction: Uint8Array, signal: AbortSignal): Promise<string | undefined>;
  /** Sends the bytes to every endpoint; one that has them already is as good. @throws ToolgateError UNAVAILABLE when none took them */
  send(signedTransaction: Uint8Array, signal: AbortSignal): Promise<void>;
  /**
   * What became of a transaction, asked of all endpoints: `absent` only when every endpoint says so. `expired`: their block height is
   * past `lastValidBlockHeight` by a margin, so that an absent transaction cannot land any more.
   */
  outcome(query: {
    txSignature: string;
    lastValidBlockHeight: bigint;
    signal: AbortSignal;
  }): Promise<
    { kind: "confirmed" } | { kind: "failed"; reason: string } | { kind: "absent"; expired: boolean }
  >;
  /** Lamports that the fee payer holds. */
  balance(address: string, signal: AbortSignal): Promise<bigint>;
}
