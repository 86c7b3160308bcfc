import { base58 } from "@scure/base";
import type { Clock, Random } from "../core/clock.ts";

/** What a wallet is asked to sign: SolanaSignInInput (Wallet Standard, `solana:signIn`), without the address, which nobody knows yet. */
export interface SignInInput {
  /** The console's host, with its port where that is not the scheme's own. */
  domain: string;
  statement: string;
  /** The console's address. */
  uri: string;
  version: "1";
  chainId: "mainnet";
  nonce: string;
  /** ISO 8601, UTC. */
  issuedAt: string;
  /** ISO 8601, UTC. */
  expirationTime: string;
}

/** Where people sign in. */
export type SignInOrigin = Pick<SignInInput, "domain" | "uri">;

/** How long a challenge is good, ms. */
const CHALLENGE_MS = 5 * 60_000;

/** How long a session lasts at most, and without being used, ms. */
export const [SESSION_MS, SESSION_IDLE_MS] = [7 * 24 * 3_600_000, 12 * 3_600_000];

const NONCE = /^[1-9A-HJ-NP-Za-km-z]{22}$/;

/** How far the clocks of two instances may lie apart, ms. */
const SKEW_MS = 60_000;

const STATEMENT =
  "Sign in to the console of this gateway. This proves that the wallet is yours; it moves nothing and costs nothing.";

/** A challenge that was never made before (Sign In With Solana, after EIP-4361). */
export function newChallenge({ domain, uri }: SignInOrigin, clock: Clock, random: Random): SignInInput {
  const now = clock.now();
  return {
    domain,
    statement: STATEMENT,
    uri,
    version: "1",
    chainId: "mainnet",
    // As many characters whatever the bytes: those with leading zeros are shorter.
    nonce: base58.encode(random.bytes(16)).padStart(22, "1"),
    issuedAt: new Date(now).toISOString(),
    expirationTime: new Date(now + CHALLENGE_MS).toISOString(),
  };
}

/** Whether a text can be a challenge's nonce: of what cannot, the database need not be asked, and some it could not be. */
export function isNonce(text: string): boolean {
  return NONCE.test(text);
}

/** Whether a challenge can be answered now, and here: it was made for this place, a while ago at most. */
export function isValidChallenge(input: SignInInput, { domain, uri }: SignInOrigin, clock: Clock): boolean {
  const now = clock.now();
  return (
    input.domain === domain &&
    input.uri === uri &&
    Date.parse(input.issuedAt) <= now + SKEW_MS &&
    now < Date.parse(input.expirationTime)
  );
}
