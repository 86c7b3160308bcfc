import { base58 } from "@scure/base";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";

/** A mint in the SPL Token program's layout. */
export interface Mint {
  readonly decimals: number;
  readonly isInitialized: boolean;
}

/** A token account in the SPL Token program's layout. */
export interface TokenAccount {
  /** base58 */
  readonly mint: string;
  /** base58 */
  readonly owner: string;
  readonly state: "uninitialized" | "initialized" | "frozen" | "unknown";
}

/** Sizes in bytes. */
const [MINT_SIZE, ACCOUNT_SIZE] = [82, 165];

/** Account states by their number. */
const STATES = ["uninitialized", "initialized", "frozen"] as const;

/** @throws MalformedAnswer for bytes that are not a mint */
export function readMint(bytes: Buffer): Mint {
  requireSize(bytes, MINT_SIZE);
  return { decimals: bytes.readUInt8(44), isInitialized: bytes.readUInt8(45) === 1 };
}

/** @throws MalformedAnswer for bytes that are not a token account */
export function readTokenAccount(bytes: Buffer): TokenAccount {
  requireSize(bytes, ACCOUNT_SIZE);
  return {
    mint: base58.encode(bytes.subarray(0, 32)),
    owner: base58.encode(bytes.subarray(32, 64)),
    state: STATES[bytes.readUInt8(108)] ?? "unknown",
  };
}

function requireSize(bytes: Buffer, size: number): void {
  if (bytes.length !== size)
    throw new MalformedAnswer(`an account has ${bytes.length} bytes instead of ${size}`);
}
