import { createHash } from "node:crypto";
import { Keypair, PublicKey, SystemProgram, type TransactionInstruction } from "@solana/web3.js";
import { address, type Address, lamports } from "@solana/kit";
import type { LiteSVM } from "litesvm";
import {
  createAssociatedTokenAccountIdempotentInstruction,
  createMintToInstruction,
  getAssociatedTokenAddressSync,
  MINT_SIZE,
  MintLayout,
} from "@solana/spl-token";
import { newAccount, TOKEN_PROGRAM, USDC_DECIMALS, USDC_MINT } from "./accounts.ts";

/**
 * A key pair of the local chain itself. It is derived from its purpose and therefore public: the chain is the
 * same after every restart, and its money is worth nothing.
 */
function localKeypair(purpose: string): Keypair {
  return Keypair.fromSeed(createHash("sha256").update(`local chain ${purpose}`).digest());
}

/** The wallet that pays for airdrops and for the chain's own transactions. */
export const FAUCET = localKeypair("faucet");
/** Lamports in the faucet at genesis: 400 million SOL. */
const FAUCET_BALANCE = 400_000_000n * 1_000_000_000n;

export function installFaucet(svm: LiteSVM): void {
  svm.setAccount(newAccount(address(FAUCET.publicKey.toBase58()), FAUCET_BALANCE));
}

export function airdropInstruction(to: Address, lamports: bigint): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: FAUCET.publicKey, toPubkey: new PublicKey(to), lamports });
}

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
