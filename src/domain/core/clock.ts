/** Where time comes from, so that tests can drive it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** Where randomness comes from, so that tests can drive it. */
export interface Random {
  /** Fresh unpredictable bytes; the caller may write to them. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
}
