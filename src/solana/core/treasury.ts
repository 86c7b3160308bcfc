import { createHash } from "node:crypto";
import { parseAddress, formatAddress } from "../../domain/core/base58.ts";

/** Addresses on Solana mainnet that this service relies on, base58. */

/** Genesis hash of mainnet, which identifies the cluster (`getGenesisHash`). */
export const MAINNET_GENESIS_HASH = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";

/** Circle's USDC on Solana mainnet. */
export const USDC_MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
/** Decimal places of USDC: one base unit is one micro-USD. */
export const USDC_DECIMALS = 6;

/** The SPL Token program, which owns USDC (not Token-2022). */
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
/** Derives one token account per wallet and mint. */
const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

/** The SPL Memo program, first version. */
export const MEMO_V1_PROGRAM = "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo";
/** The SPL Memo program, second version, used by wallets. */
export const MEMO_V2_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";

export const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
/** Lighthouse: Phantom and Solflare add its assertions to transactions. */
export const LIGHTHOUSE_PROGRAM = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";

/** Characters that change how a terminal or page shows the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes untrusted text safe to display: replaces control characters with U+FFFD. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, "\u{fffd}");
}

export interface Treasury {
  /** Wallet (or multisig vault) that owns the token account, base58. */
  readonly owner: string;
  /**
   * The owner's associated token account for USDC, base58: `pay_to` in payment instructions (specification
   * 2.3).
   */
  readonly tokenAccount: string;
  /** USDC, base58. */
  readonly mint: string;
}

/**
 * Derives the treasury's addresses from its owner, which may be off the curve, such as a multisig vault.
 * @param owner TREASURY_OWNER, base58
 * @throws TypeError for an invalid address
 */
export function treasuryOf(owner: string): Treasury {
  if (!parseAddress(owner))
    throw new TypeError("TREASURY_OWNER: must be a Solana address (base58 of 32 bytes)");
  return { owner, tokenAccount: associatedTokenAccount(owner, USDC_MINT), mint: USDC_MINT };
}

// The curve of Ed25519, -x² + y² = 1 + d·x²·y² over the integers modulo p (RFC 8032, section 5.1).
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
/** The bits of y; the one above them is x's sign. */
const Y = 2n ** 255n - 1n;

/**
 * Returns the associated token account: the first hash, over a bump seed counting down from 255, that is not
 * a public key. web3.js and spl-token derive the same, but loading them takes 15 MB and 100 ms, and
 * verification needs nothing else of them.
 * @param owner base58; a wallet, or an address off the curve such as a multisig vault
 * @param mint base58; of the SPL Token program
 * @returns base58
 * @throws TypeError for an invalid address
 */
export function associatedTokenAccount(owner: string, mint: string): string {
  const seeds = [owner, TOKEN_PROGRAM, mint].map(bytesOf);
  const program = bytesOf(ASSOCIATED_TOKEN_PROGRAM);
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash("sha256");
    for (const part of [...seeds, Uint8Array.of(bump), program]) hash.update(part);
    const address = hash.update("ProgramDerivedAddress").digest();
    if (!isOnCurve(address)) return formatAddress(address);
  }
  throw new TypeError(`${owner} has no associated token account`);
}

function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (!bytes) throw new TypeError(`${address} is not a Solana address (base58 of 32 bytes)`);
  return bytes;
}

/** Whether x² = (y² - 1) / (d·y² + 1) has a root, by Euler's criterion. */
function isOnCurve(address: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(address).reverse().toString("hex")}`) & Y;
  const square = (y * y) % P;
  const quadratic = ((square - 1n + P) * (D * square + 1n)) % P;
  return quadratic === 0n || power(quadratic, (P - 1n) / 2n) === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let [square, left] = [base, exponent]; left > 0n; square = (square * square) % P, left >>= 1n) {
    if (left & 1n) result = (result * square) % P;
  }
  return result;
}
