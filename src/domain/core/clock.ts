/** The source of time, replaceable in tests. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The source of randomness, replaceable in tests. */
export interface Random {
  /** Returns new random bytes; the caller may overwrite them. */
  bytes(length: number): Uint8Array<ArrayBuffer>;
}
