import { parseAddress } from "../../domain/core/base58.ts";
import { USDC_MINT } from "./addresses.ts";
import { associatedTokenAccount } from "./associated-token-account.ts";

/** Destination of payments. */
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
