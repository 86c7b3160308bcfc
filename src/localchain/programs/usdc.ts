import { lamports, type Address } from "@solana/kit";
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createMintToInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  MintLayout,
} from "@solana/spl-token";
import { PublicKey, type TransactionInstruction } from "@solana/web3.js";
import type { LiteSVM } from "litesvm";
import { TOKEN_PROGRAM, USDC_DECIMALS, USDC_MINT } from "../addresses.ts";
import { localKeypair } from "./authority.ts";
import { FAUCET } from "./faucet.ts";

/** The key that may create and freeze the local chain's USDC, in Circle's place. */
export const USDC_AUTHORITY = localKeypair("USDC authority");
const MINT = new PublicKey(USDC_MINT);

/** Creates the USDC mint at its mainnet address, without supply. */
export function installUsdc(svm: LiteSVM): void {
  const data = new Uint8Array(MINT_SIZE);
  MintLayout.encode(
    {
      mintAuthorityOption: 1,
      mintAuthority: USDC_AUTHORITY.publicKey,
      supply: 0n,
      decimals: USDC_DECIMALS,
      isInitialized: true,
      freezeAuthorityOption: 1,
      freezeAuthority: USDC_AUTHORITY.publicKey,
    },
    data,
  );
  svm.setAccount({
    address: USDC_MINT,
    lamports: lamports(svm.minimumBalanceForRentExemption(BigInt(MINT_SIZE))),
    data,
    programAddress: TOKEN_PROGRAM,
    executable: false,
    space: BigInt(MINT_SIZE),
  });
}

/** The wallet's associated token account for USDC. Program-derived owners are fine. */
export function usdcAccount(owner: Address): PublicKey {
  return getAssociatedTokenAddressSync(MINT, new PublicKey(owner), true);
}

/** Creates the wallet's USDC account if it has none, then mints `microUsd` into it. */
export function mintUsdcInstructions(owner: Address, microUsd: bigint): readonly TransactionInstruction[] {
  const account = usdcAccount(owner);
  return [
    createAssociatedTokenAccountIdempotentInstruction(FAUCET.publicKey, account, new PublicKey(owner), MINT),
    createMintToInstruction(MINT, account, USDC_AUTHORITY.publicKey, microUsd),
  ];
}
