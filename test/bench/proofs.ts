import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { base58 } from "@scure/base";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Connection, Keypair, PublicKey, Transaction } from "@solana/web3.js";
import { USDC_MINT } from "../../src/solana/core/treasury.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { callOnce, PAID_CALL, postRequest } from "./http-request.ts";
import { rpcRequest } from "./rpc-request.ts";
import type { World } from "./world.ts";

const OPTIONS = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
/** Quotes that are requested at once. */
const AT_ONCE = 32;

/** A quote that was issued to a key. */
export interface Quoted {
  readonly apiKey: string;
  readonly quoteId: string;
  readonly price: bigint;
}

/** A call with the proof of its payment. */
export interface ProvedCall {
  readonly txSignature: string;
  readonly memo: string;
  /** Wire form. */
  readonly request: string;
}

/** A payment as `getTransaction` returns it, and its memo. */
export interface MadePayment {
  readonly answer: unknown;
  readonly memo: string;
}

/** Pays one quote on the local chain. */
export async function makePayment(
  { rpcUrl, treasuryOwner }: World,
  { quoteId, price }: Quoted,
): Promise<MadePayment> {
  const wallet = Keypair.generate();
  const payer = wallet.publicKey.toBase58();
  const memo = memoOf(quoteId);
  await rpcRequest(rpcUrl, "local_airdrop", [payer, 1_000_000_000]);
  await rpcRequest(rpcUrl, "local_mintUsdc", [payer, Number(price)]);
  const [mint, treasury] = [new PublicKey(USDC_MINT), new PublicKey(treasuryOwner)];
  const payTo = getAssociatedTokenAddressSync(mint, treasury).toBase58();
  const transaction = new Transaction().add(...paymentInstructions({ payer, payTo, amount: price, memo }));
  const connection = new Connection(rpcUrl, "confirmed");
  const signature = await connection.sendTransaction(transaction, [wallet], { skipPreflight: true });
  for (;;) {
    const answer = await rpcRequest(rpcUrl, "getTransaction", [signature, OPTIONS]);
    if (answer !== null) return { answer, memo };
    await sleep(50);
  }
}

/** Requests that many quotes, for each key in turn. */
export async function quotes(port: number, apiKeys: readonly string[], count: number): Promise<Quoted[]> {
  const quoted: Quoted[] = [];
  let next = 0;
  const ask = async (): Promise<void> => {
    while (next < count) {
      const apiKey = apiKeys[next++ % apiKeys.length] ?? "";
      const text = await callOnce(port, apiKey, PAID_CALL, 402);
      const quoteId = /"quote_id":"(qt_\w+)"/.exec(text)?.[1];
      const price = /"price_usdc_microusd":(\d+)/.exec(text)?.[1];
      if (quoteId === undefined || price === undefined) throw new Error(`expected a quote, got ${text}`);
      quoted.push({ apiKey, quoteId, price: BigInt(price) });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return quoted;
}

/** A call that proves the payment of a quote, which is yet to be landed. */
export function prove({ apiKey, quoteId }: Quoted): ProvedCall {
  const txSignature = base58.encode(randomBytes(64));
  const proof = Buffer.from(JSON.stringify({ tx: txSignature, quote_id: quoteId })).toString("base64url");
  const request = postRequest("/v1/mcp/tools/call", apiKey, PAID_CALL, { "X-Payment": proof });
  return { txSignature, memo: memoOf(quoteId), request };
}

function memoOf(quoteId: string): string {
  return `svc:${quoteId}`;
}
