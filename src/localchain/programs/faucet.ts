import { address, type Address } from "@solana/kit";
import { PublicKey, SystemProgram, type TransactionInstruction } from "@solana/web3.js";
import type { LiteSVM } from "litesvm";
import { newAccount } from "../account-store.ts";
import { localKeypair } from "./authority.ts";

/** The wallet that pays for airdrops and for the chain's own transactions. */
export const FAUCET = localKeypair("faucet");
/** Lamports in the faucet at genesis: 400 million SOL. */
const FAUCET_BALANCE = 400_000_000n * 1_000_000_000n;

export function installFaucet(svm: LiteSVM): void {
  svm.setAccount(newAccount(address(FAUCET.publicKey.toBase58()), FAUCET_BALANCE));
}

/** An airdrop as a transfer out of the faucet. */
export function airdropInstruction(to: Address, lamports: bigint): TransactionInstruction {
  return SystemProgram.transfer({ fromPubkey: FAUCET.publicKey, toPubkey: new PublicKey(to), lamports });
}
