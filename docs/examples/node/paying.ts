// A fetch that pays what it is asked for, for the examples beside this file: WALLET=wallet.json, a key file (JSON array of 64 bytes).
// Gasless, the wallet needs USDC only; or, with SOLANA_RPC_URL, by transfers of its own, which take some SOL too.
import { readFileSync } from "node:fs";
import { keypairSigner, payingFetch, type PaymentOptions } from "toolgate/client";
import { fileStore } from "toolgate/client/node";
import { WALLET } from "./settings.ts";

const { SOLANA_RPC_URL: rpcUrl } = process.env;

/** Whom to pay with, and how much at most. */
export const payment: PaymentOptions = {
  signer: keypairSigner(Uint8Array.from(JSON.parse(readFileSync(WALLET, "utf8")))),
  maxPrice: "0.01", // USDC, for one call
  budget: "1.00", // for all of them, ever
  store: fileStore(`${WALLET}.payments`), // what was paid before a crash is not paid again
  ...(rpcUrl === undefined ? { method: "gasless" } : { method: "transfer", rpcUrl }),
};

export const paying = payingFetch(payment);
