import { PublicKey } from "@solana/web3.js";
import { parseAddress } from "../domain/base58.ts";
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM, USDC_MINT } from "./addresses.ts";

/** Where payments go. */
export interface Treasury {
  /** Wallet (or multisig vault) that owns the token account, base58. */
  readonly owner: string;
  /** The owner's associated token account for USDC, base58: `pay_to` in payment instructions (specification 2.3). */
  readonly tokenAccount: string;
  /** USDC, base58. */
  readonly mint: string;
}

/**
 * Derives the treasury's addresses from its owner. The owner may be off the curve, as the vaults of multisig programs are.
 * @param owner TREASURY_OWNER, base58
 * @throws TypeError when it is not an address
 */
export function treasuryOf(owner: string): Treasury {
  if (!parseAddress(owner)) throw new TypeError("TREASURY_OWNER: must be a Solana address (base58 of 32 bytes)");
  return { owner, tokenAccount: usdcAccountOf(owner), mint: USDC_MINT };
}

/** As the program derives it. spl-token can, too, but is 150 modules that nothing else at the start asks for. */
function usdcAccountOf(owner: string): string {
  const seeds = [owner, TOKEN_PROGRAM, USDC_MINT].map((address) => new PublicKey(address).toBytes());
  const [account] = PublicKey.findProgramAddressSync(seeds, new PublicKey(ASSOCIATED_TOKEN_PROGRAM));
  return account.toBase58();
}
