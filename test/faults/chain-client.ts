import { Keypair, PublicKey, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { z } from "zod";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";

/** How long a blockhash is reused, ms; the chain accepts it for 150 slots. */
const BLOCKHASH_MS = 1_000;

/** More than the 600 slots after which an unknown payment is reversed. */
const SETTLED_SLOTS = 700;

const USDC = new PublicKey("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v");

const answer = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const newWallet = z.object({ secret_key: z.array(z.number()) });
const latestBlockhash = z.object({ value: z.object({ blockhash: z.string() }) });
const statuses = z.object({ value: z.array(z.object({ err: z.unknown() }).nullable()) });
const tokenBalance = z.object({ value: z.object({ amount: z.string() }) });

/** The chain as payers see it, unaffected by endpoint faults. */
export class ChainClient {
  readonly #url: string;
  /** Monotonic time when everything was last finalized, ms. */
  #settledAt = 0;
  readonly #paying = new Set<Promise<string>>();
  #settling: Promise<void> | undefined;
  #blockhash: { hash: string; since: number } | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  /** A wallet with SOL for fees and that much USDC, micro-USD. */
  async wallet(microUsd: number): Promise<Keypair> {
    const funds = { lamports: 1_000_000_000_000, micro_usd: microUsd };
    const { secret_key } = newWallet.parse(await this.ask("local_createWallet", funds));
    return Keypair.fromSecretKey(Uint8Array.from(secret_key));
  }

  /**
   * Sends USDC to the treasury.
   * @returns the signature; only the treasury's balance shows whether it landed
   */
  async pay(payer: Keypair, payTo: string, amount: bigint, memo: string): Promise<string> {
    // A transaction must land before its blockhash expires.
    while (this.#settling) await this.#settling;
    const sent = this.#send(payer, payTo, amount, memo);
    this.#paying.add(sent);
    try {
      return await sent;
    } finally {
      this.#paying.delete(sent);
    }
  }

  async #send(payer: Keypair, payTo: string, amount: bigint, memo: string): Promise<string> {
    const message = new TransactionMessage({
      payerKey: payer.publicKey,
      recentBlockhash: await this.recentBlockhash(),
      instructions: paymentInstructions({ payer: payer.publicKey.toBase58(), payTo, amount, memo }),
    });
    const transaction = new VersionedTransaction(message.compileToV0Message());
    transaction.sign([payer]);
    const bytes = Buffer.from(transaction.serialize()).toString("base64");
    return z
      .string()
      .parse(await this.ask("sendTransaction", bytes, { encoding: "base64", skipPreflight: true }));
  }

  /** Advances the chain until everything is finalized and forked-out payments can never return. */
  async settle(): Promise<void> {
    this.#settling ??= this.#settle().finally(() => (this.#settling = undefined));
    await this.#settling;
  }

  async #settle(): Promise<void> {
    await Promise.allSettled(this.#paying);
    await this.ask("local_advanceSlots", SETTLED_SLOTS);
    this.#blockhash = undefined;
    this.#settledAt = performance.now();
  }

  /**
   * Removes a payment sent at that time from the chain.
   * @returns false when it is final
   */
  async drop(tx: string, sentAt: number): Promise<boolean> {
    while (this.#settling) await this.#settling;
    if (this.#settledAt > sentAt) return false;
    await this.ask("local_drop", tx);
    return true;
  }

  /** Whether the transaction is on the chain, and succeeded. */
  async landed(tx: string): Promise<boolean> {
    const options = { searchTransactionHistory: true };
    const { value } = statuses.parse(await this.ask("getSignatureStatuses", [tx], options));
    return value[0]?.err === null;
  }

  /** Makes every node 40 slots late for transactions; undone by `lag(false)`. */
  async lag(lags: boolean): Promise<void> {
    const fault = { kind: "stale", slots: 40 };
    for (const method of ["getTransaction", "getSignatureStatuses", "getSignaturesForAddress"]) {
      if (lags) await this.ask("local_addFault", { method, fault });
      else await this.ask("local_clearFaults", method);
    }
  }

  /** The wallet's USDC account, base58. */
  tokenAccount(owner: PublicKey): string {
    return getAssociatedTokenAddressSync(USDC, owner, true).toBase58();
  }

  /** Balance of the wallet's USDC account, micro-USD. */
  async usdc(owner: PublicKey): Promise<bigint> {
    const account = this.tokenAccount(owner);
    const { value } = tokenBalance.parse(
      await this.ask("getTokenAccountBalance", account, { commitment: "processed" }),
    );
    return BigInt(value.amount);
  }

  /** @throws Error when the chain returns an error */
  async ask(method: string, ...params: unknown[]): Promise<unknown> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = answer.parse(await response.json());
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async recentBlockhash(): Promise<string> {
    const now = performance.now();
    if (!this.#blockhash || now - this.#blockhash.since > BLOCKHASH_MS) {
      const { value } = latestBlockhash.parse(await this.ask("getLatestBlockhash"));
      this.#blockhash = { hash: value.blockhash, since: now };
    }
    return this.#blockhash.hash;
  }
}
