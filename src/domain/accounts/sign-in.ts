import { base58 } from "@scure/base";
import type { Clock, Random } from "../core/clock.ts";

/** SolanaSignInInput (Wallet Standard, `solana:signIn`) without the address, which is not known yet. */
export interface SignInInput {
  /** Host of the console or the gateway, with a non-default port. */
  domain: string;
  statement: string;
  /** URL of the console, or of the request that a wallet signs. */
  uri: string;
  version: "1";
  chainId: string;
  nonce: string;
  /** ISO 8601, UTC. */
  issuedAt: string;
  /** ISO 8601, UTC. */
  expirationTime: string;
  /** Method of the request that a wallet signs; unset for the console. */
  requestId?: string;
}

export type SignInOrigin = Pick<SignInInput, "domain" | "uri">;

/** Lifetime of a challenge, ms. */
const CHALLENGE_MS = 5 * 60_000;

/** Maximum age of a session, and its idle timeout, ms. */
export const [SESSION_MS, SESSION_IDLE_MS] = [7 * 24 * 3_600_000, 12 * 3_600_000];

const NONCE = /^[1-9A-HJ-NP-Za-km-z]{22}$/;

/** Tolerated clock difference between instances, ms. */
const SKEW_MS = 60_000;

const STATEMENT =
  "Sign in to the console of this gateway. This proves that the wallet is yours; it moves nothing and " +
  "costs nothing.";

/** Creates a random challenge (Sign In With Solana, after EIP-4361). */
export function newChallenge({ domain, uri }: SignInOrigin, clock: Clock, random: Random): SignInInput {
  // Padded: base58 of bytes with leading zeros is shorter.
  const nonce = base58.encode(random.bytes(16)).padStart(22, "1");
  return challengeOf({ domain, uri, statement: STATEMENT, chainId: "mainnet", nonce }, clock.now());
}

/** Completes a challenge. @param issuedAt ms */
export function challengeOf(
  { domain, statement, uri, chainId, nonce }: Omit<SignInInput, "version" | "issuedAt" | "expirationTime">,
  issuedAt: number,
): SignInInput {
  return {
    domain,
    statement,
    uri,
    version: "1",
    chainId,
    nonce,
    issuedAt: new Date(issuedAt).toISOString(),
    expirationTime: new Date(issuedAt + CHALLENGE_MS).toISOString(),
  };
}

/** Whether a text has the format of a nonce; saves a query otherwise. */
export function isNonce(text: string): boolean {
  return NONCE.test(text);
}

/** Whether a challenge was made for this origin and has not expired. */
export function isValidChallenge(input: SignInInput, { domain, uri }: SignInOrigin, clock: Clock): boolean {
  return input.domain === domain && input.uri === uri && isCurrentChallenge(input, clock);
}

/** Whether a challenge was issued and has not expired. */
export function isCurrentChallenge(
  { issuedAt, expirationTime }: Pick<SignInInput, "issuedAt" | "expirationTime">,
  clock: Clock,
): boolean {
  const now = clock.now();
  return Date.parse(issuedAt) <= now + SKEW_MS && now < Date.parse(expirationTime);
}

/**
 * Prefix of off-chain messages, which makes them invalid transactions (sRFC 3 and 38; Anza, "Off-Chain
 * Message Signing").
 */
const SIGNING_DOMAIN = Buffer.concat([Buffer.from([0xff]), Buffer.from("solana offchain", "ascii")]);

/** Position of the application domain in version 0: 32 bytes chosen by the wallet. */
const [DOMAIN_AT, DOMAIN_END] = [SIGNING_DOMAIN.length + 1, SIGNING_DOMAIN.length + 33];

/** Message formats of version 0: ASCII, and UTF-8 that a hardware wallet can show. */
const FORMATS = [0, 1];

/**
 * Whether the signed bytes are the text, either plain or after an off-chain message header for this signer
 * only.
 * @param address 32 bytes
 */
export function isTextSigned(signed: Uint8Array, text: string, address: Uint8Array): boolean {
  const bytes = Buffer.from(text, "utf8");
  const domain = signed.subarray(DOMAIN_AT, DOMAIN_END);
  return [Buffer.alloc(0), ...headers(domain, address, bytes.length)].some((header) =>
    Buffer.concat([header, bytes]).equals(signed),
  );
}

/** All headers that a wallet may prepend for one signer. */
function headers(domain: Uint8Array, address: Uint8Array, length: number): Buffer[] {
  const size = Buffer.alloc(2);
  size.writeUInt16LE(length & 0xffff);
  return [
    // Version 0 as written by Solana's own programs and older hardware wallets.
    ...FORMATS.map((format) => Buffer.concat([SIGNING_DOMAIN, Buffer.from([0, format]), size])),
    // Version 0 as standardized later.
    ...FORMATS.map((format) =>
      Buffer.concat([SIGNING_DOMAIN, Buffer.from([0]), domain, Buffer.from([format, 1]), address, size]),
    ),
    // Version 1, without a length: the text ends with the message.
    Buffer.concat([SIGNING_DOMAIN, Buffer.from([1, 1]), address]),
  ];
}
