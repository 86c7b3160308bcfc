import { readFileSync } from "node:fs";
import path from "node:path";
import { Connection, Keypair, sendAndConfirmTransaction, Transaction } from "@solana/web3.js";
import { z } from "zod";
import type { MicroUsd } from "../domain/money.ts";
import { paymentInstructions } from "../solana/index.ts";

const devJson = z.object({ rpc_url: z.string(), pay_to: z.string(), wallet_secret_key: z.array(z.number()) });

/**
 * Pays from the development wallet, as payment instructions ask for it (specification 2.3).
 * @param amount micro-USD
 * @returns the transaction's signature, confirmed
 */
export async function payFromDevWallet(dataDir: string, amount: MicroUsd, memo: string): Promise<string> {
  const dev = devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8")));
  const wallet = Keypair.fromSecretKey(Uint8Array.from(dev.wallet_secret_key));
  const connection = new Connection(dev.rpc_url, "confirmed");
  const order = { payer: wallet.publicKey.toBase58(), payTo: dev.pay_to, amount, memo };
  return sendAndConfirmTransaction(connection, new Transaction().add(...paymentInstructions(order)), [wallet], {
    commitment: "confirmed",
  });
}
