import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { base58 } from "@scure/base";
import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Connection, Keypair, PublicKey, Transaction } from "@solana/web3.js";
import { Pool } from "undici";
import { USDC_MINT } from "../../src/solana/core/addresses.ts";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import { PAID_CALL, postRequest } from "./http-request.ts";
import { rpcRequest, type Landed, type MadePayment } from "./rpc-stand-in.ts";
import type { World } from "./world.ts";

const PATH = "/v1/mcp/tools/call";

/** A quote that was issued to a key. */
export interface Quoted {
  readonly apiKey: string;
  readonly quoteId: string;
  /** Micro-USD. */
  readonly price: bigint;
}

/** A call with the proof of its payment. */
export interface ProvedCall extends Landed {
  /** Wire form. */
  readonly request: string;
}

/** Pays one quote on the local chain. */
export async function makePayment(
  { rpcUrl, treasuryOwner }: World,
  { quoteId, price }: Quoted,
): Promise<MadePayment> {
  const payer = Keypair.generate();
  const memo = memoOf(quoteId);
  await rpcRequest(rpcUrl, "local_airdrop", [payer.publicKey.toBase58(), 1_000_000_000]);
  await rpcRequest(rpcUrl, "local_mintUsdc", [payer.publicKey.toBase58(), Number(price)]);
  const payTo = getAssociatedTokenAddressSync(
    new PublicKey(USDC_MINT),
    new PublicKey(treasuryOwner),
  ).toBase58();
  const order = { payer: payer.publicKey.toBase58(), payTo, amount: price, memo };
  const connection = new Connection(rpcUrl, "confirmed");
  const transaction = new Transaction().add(...paymentInstructions(order));
  const signature = await connection.sendTransaction(transaction, [payer], { skipPreflight: true });
  const options = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
  for (;;) {
    const reported = await rpcRequest(rpcUrl, "getTransaction", [signature, options]);
    if (reported !== null) return { answer: reported, memo };
    await sleep(50);
  }
}

/** Has the gateway quote that many calls, the accounts in turn. */
export async function quotes(port: number, apiKeys: readonly string[], count: number): Promise<Quoted[]> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 32 });
  const quoted: Quoted[] = [];
  const body = JSON.stringify(PAID_CALL);
  const quote = async (apiKey: string): Promise<void> => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const answer = await pool.request({ path: PATH, method: "POST", headers, body });
    const text = await answer.body.text();
    const quoteId = /"quote_id":"(qt_\w+)"/.exec(text)?.[1];
    const price = /"price_usdc_microusd":(\d+)/.exec(text)?.[1];
    if (quoteId === undefined || price === undefined)
      throw new Error(`expected a quote, got ${answer.statusCode}: ${text}`);
    quoted.push({ apiKey, quoteId, price: BigInt(price) });
  };
  let next = 0;
  const ask = async (): Promise<void> => {
    while (next < count) await quote(apiKeys[next++ % apiKeys.length] ?? "");
  };
  await Promise.all(Array.from({ length: 32 }, ask));
  await pool.close();
  return quoted;
}

/** The calls that prove payments of these quotes; the payments are yet to be landed. */
export function prove(quoted: readonly Quoted[]): ProvedCall[] {
  return quoted.map(({ apiKey, quoteId }) => {
    const txSignature = base58.encode(randomBytes(64));
    const proof = Buffer.from(JSON.stringify({ tx: txSignature, quote_id: quoteId })).toString("base64url");
    const request = postRequest(PATH, apiKey, PAID_CALL, { "X-Payment": proof });
    return { txSignature, memo: memoOf(quoteId), request };
  });
}

function memoOf(quoteId: string): string {
  return `svc:${quoteId}`;
}
