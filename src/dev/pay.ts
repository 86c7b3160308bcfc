import { readFileSync } from "node:fs";
import path from "node:path";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Connection, Keypair, PublicKey, sendAndConfirmTransaction, Transaction } from "@solana/web3.js";
import { z } from "zod";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { paymentInstructions } from "../solana/deposits/payment-instructions.ts";

const devJson = z.object({
  rpc_url: z.string(),
  pay_to: z.string(),
  usdc_mint: z.string(),
  wallet_secret_key: z.array(z.number()),
});

/** The development wallet cannot pay; the message names the reason and the remedy. */
export class DevPaymentError extends Error {
  override name = "DevPaymentError";
}

/** The development wallet's transfer to the treasury. */
export interface DevPayment {
  /** micro-USD */
  readonly amount: MicroUsd;
  /** Undefined: the transfer has none. */
  readonly memo?: string | undefined;
}

/** Pays from the development wallet (specification 2.3). @returns the signature. @throws DevPaymentError */
export async function payFromDevWallet(dataDir: string, { amount, memo }: DevPayment): Promise<string> {
  const dev = readDev(dataDir);
  const wallet = Keypair.fromSecretKey(Uint8Array.from(dev.wallet_secret_key));
  const connection = new Connection(dev.rpc_url, "confirmed");
  await expectFunds(
    connection,
    getAssociatedTokenAddressSync(new PublicKey(dev.usdc_mint), wallet.publicKey),
    amount,
  );
  const order = { payer: wallet.publicKey.toBase58(), payTo: dev.pay_to, amount, memo: memo ?? "" };
  // The memo is the first of them.
  const instructions = paymentInstructions(order).slice(memo === undefined ? 1 : 0);
  return sendAndConfirmTransaction(connection, new Transaction().add(...instructions), [wallet], {
    commitment: "confirmed",
  });
}

function readDev(dataDir: string): z.output<typeof devJson> {
  try {
    return devJson.parse(JSON.parse(readFileSync(path.join(dataDir, "dev.json"), "utf8")));
  } catch {
    throw new DevPaymentError(`No dev is running on ${dataDir}: run npm start in another terminal.`);
  }
}

async function expectFunds(connection: Connection, account: PublicKey, amount: MicroUsd): Promise<void> {
  const held = BigInt((await connection.getTokenAccountBalance(account)).value.amount);
  if (held >= amount) return;
  throw new DevPaymentError(
    `The development wallet holds ${formatUsdc(held)} USDC, which is less than ${formatUsdc(amount)}; ` +
      "npm start gives it more when it holds less than 10.",
  );
}
