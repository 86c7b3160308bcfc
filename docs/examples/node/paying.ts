// A fetch that pays what it is asked for, for the examples beside this file.
//   WALLET=wallet.json, a key file (JSON array of 64 bytes).
// Pays gasless with USDC only; or with SOLANA_RPC_URL by transfers, which need some SOL.
import { readFileSync } from "node:fs";
import { keypairSigner, payingFetch, type PaymentOptions } from "toolgate-client";
import { fileStore } from "toolgate-client/node";
import { WALLET } from "./settings.ts";

const { SOLANA_RPC_URL: rpcUrl } = process.env;

/** The wallet and the limits. */
export const payment: PaymentOptions = {
  signer: keypairSigner(Uint8Array.from(JSON.parse(readFileSync(WALLET, "utf8")))),
  maxPrice: "0.01", // USDC, for one call
  budget: "1.00", // USDC, for all calls together
  store: fileStore(`${WALLET}.payments`), // a payment survives a crash
  ...(rpcUrl === undefined ? { method: "gasless" } : { method: "transfer", rpcUrl }),
};

export const paying = payingFetch(payment);
