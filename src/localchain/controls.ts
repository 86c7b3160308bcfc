import { address } from "@solana/kit";
import { ComputeBudgetProgram, Keypair, Transaction } from "@solana/web3.js";
import type { PublicKey, TransactionInstruction } from "@solana/web3.js";
import type { Chain } from "./engine.ts";
import { airdropInstruction, FAUCET, mintUsdcInstructions, USDC_AUTHORITY, usdcAccount } from "./programs.ts";
import { describeTransactionError } from "./transaction-error.ts";
import { type TransactionRecord, decodeTransaction } from "./wire-transaction.ts";

/** More compute units than creating a token account and minting take. */
const ENOUGH_UNITS = 200_000;

/** Initial funds of {@link Controls.createWallet}. */
export interface WalletFunds {
  /** Lamports; default 1 SOL. */
  readonly lamports?: bigint;
  /** Micro-USD. 0 creates an empty USDC account, undefined none. */
  readonly microUsd?: bigint;
}

/**
 * Set-up for tests and demonstrations. All of it happens in real transactions of the chain's own keys, which
 * are finalized at once: `getSignaturesForAddress` shows them and a restart brings them back.
 */
export class Controls {
  readonly #chain: Chain;

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  /** Creates a key pair with SOL and optionally USDC. */
  createWallet({ lamports = 1_000_000_000n, microUsd }: WalletFunds = {}): Keypair {
    const wallet = Keypair.generate();
    const to = address(wallet.publicKey.toBase58());
    const airdrop = lamports > 0n ? [airdropInstruction(to, lamports)] : [];
    if (microUsd !== undefined)
      this.#send([...airdrop, ...mintUsdcInstructions(to, microUsd)], true, USDC_AUTHORITY);
    else if (airdrop.length > 0) this.#send(airdrop, true);
    return wallet;
  }

  /** Adds SOL to a wallet. Not finalized at once for a client's `requestAirdrop`. */
  airdrop(to: PublicKey | string, lamports: bigint, rooted = true): TransactionRecord {
    return this.#send([airdropInstruction(address(to.toString()), lamports)], rooted);
  }

  /** Mints micro-USD of USDC to a wallet and returns its token account, which is created if need be. */
  mintUsdc(owner: PublicKey | string, microUsd: bigint): PublicKey {
    this.#send(mintUsdcInstructions(address(owner.toString()), microUsd), true, USDC_AUTHORITY);
    return this.usdcAccount(owner);
  }

  /** The wallet's associated token account for USDC, whether it exists or not. */
  usdcAccount(owner: PublicKey | string): PublicKey {
    return usdcAccount(address(owner.toString()));
  }

  #send(
    instructions: readonly TransactionInstruction[],
    rooted: boolean,
    ...others: readonly Keypair[]
  ): TransactionRecord {
    const { slots, history } = this.#chain;
    const transaction = new Transaction({
      feePayer: FAUCET.publicKey,
      blockhash: slots.blockhash(slots.current),
      lastValidBlockHeight: slots.lastValidBlockHeight(slots.current),
    });
    // The chain would refuse equal transactions as duplicates; the limit makes equal requests differ.
    transaction.add(ComputeBudgetProgram.setComputeUnitLimit({ units: ENOUGH_UNITS + history.size }));
    transaction.add(...instructions);
    transaction.sign(FAUCET, ...others);
    // The chain verifies the signatures, in a fraction of the time that the library takes.
    const bytes = transaction.serialize({ verifySignatures: false });
    const outcome = this.#chain.submit(decodeTransaction(bytes), { rooted });
    if (outcome.err !== null) throw new Error(describeTransactionError(outcome.err));
    if (!("transaction" in outcome)) throw new Error("the transaction did not land");
    return outcome;
  }
}
