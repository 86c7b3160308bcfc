import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Connection, Keypair, PublicKey, Transaction } from "@solana/web3.js";
import { z } from "zod";
import type { World } from "../bench/world.ts";
import { USDC_MINT } from "../../src/solana/core/addresses.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";

const response = z.object({ result: z.unknown() });

/** A wallet that pays quotes on-chain. */
export class Payer {
  readonly #wallet: Keypair;
  readonly #connection: Connection;
  readonly #payTo: string;

  private constructor(wallet: Keypair, rpcUrl: string, treasuryOwner: string) {
    this.#wallet = wallet;
    this.#connection = new Connection(rpcUrl, "confirmed");
    this.#payTo = getAssociatedTokenAddressSync(
      new PublicKey(USDC_MINT),
      new PublicKey(treasuryOwner),
    ).toBase58();
  }

  /** With more SOL and USDC than an hour needs. */
  static async open({ rpcUrl, treasuryOwner }: World): Promise<Payer> {
    const wallet = Keypair.generate();
    const address = wallet.publicKey.toBase58();
    for (const [method, amount] of [
      ["local_airdrop", 1_000_000_000_000],
      ["local_mintUsdc", 1_000_000_000_000],
    ] as const) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [address, amount] });
      const answer = await fetch(rpcUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      response.parse(await answer.json());
    }
    return new Payer(wallet, rpcUrl, treasuryOwner);
  }

  /**
   * @param amount micro-USD
   * @returns the signature; confirmed shortly afterwards
   */
  async pay(quoteId: string, amount: bigint): Promise<string> {
    const payer = this.#wallet.publicKey.toBase58();
    const order = { payer, payTo: this.#payTo, amount, memo: `svc:${quoteId}` };
    const transaction = new Transaction().add(...paymentInstructions(order));
    return this.#connection.sendTransaction(transaction, [this.#wallet], { skipPreflight: true });
  }
}
