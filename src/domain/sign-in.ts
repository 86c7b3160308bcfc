/** What a wallet is asked to sign: SolanaSignInInput (Wallet Standard, `solana:signIn`), without the address. */
export interface SignInInput {
  domain: string;
  statement: string;
  uri: string;
  version: "1";
  chainId: "mainnet";
  nonce: string;
  /** ISO 8601, UTC. */
  issuedAt: string;
  /** ISO 8601, UTC. */
  expirationTime: string;
}

/** How long a session lasts at most, and without being used, ms. */
export const [SESSION_MS, SESSION_IDLE_MS] = [7 * 24 * 3_600_000, 12 * 3_600_000];
