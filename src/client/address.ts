import { ed25519 } from "@noble/curves/ed25519";
import { sha256 } from "@noble/hashes/sha2";
import { fromBase58, toBase58 } from "./base58.ts";

/** The token program, and the program that derives an owner's token account. */
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
/** https://solana.com/docs/core/pda: hashed last. */
const PDA_MARKER = new TextEncoder().encode("ProgramDerivedAddress");

/** The 32 bytes of an address. @throws TypeError if it is not base58 of 32 bytes */
export function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase58(address);
  if (bytes?.length !== 32) throw new TypeError(`${address.slice(0, 64)}: is not a Solana address`);
  return bytes;
}

/** Whether a text is an address, in base58. */
export function isAddress(text: string): boolean {
  return fromBase58(text)?.length === 32;
}

/** Whether an address can be a public key. Off the curve it belongs to a program, such as a token account. */
export function isOnCurve(address: Uint8Array): boolean {
  try {
    ed25519.Point.fromHex(address);
    return true;
  } catch {
    return false;
  }
}

/** The associated token account of an owner, base58. */
export function tokenAccountOf(owner: string, mint: string): string {
  const seeds = [owner, TOKEN_PROGRAM, mint].map(addressBytes);
  const program = addressBytes(ASSOCIATED_TOKEN_PROGRAM);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = sha256.create();
    for (const part of [...seeds, Uint8Array.of(bump), program, PDA_MARKER]) hash.update(part);
    const address = hash.digest();
    if (!isOnCurve(address)) return toBase58(address);
  }
  throw new TypeError(`${owner}: has no associated token account`);
}
