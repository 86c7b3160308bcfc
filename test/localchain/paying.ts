import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey, Transaction, TransactionInstruction, type Keypair } from "@solana/web3.js";
import { USDC_DECIMALS, USDC_MINT, type LocalChain } from "../../src/localchain/index.ts";

export const MINT = new PublicKey(USDC_MINT);
const MEMO_PROGRAM = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

export function memo(text: string): TransactionInstruction {
  return new TransactionInstruction({ programId: MEMO_PROGRAM, keys: [], data: Buffer.from(text) });
}

/** A transfer of `microUsd` between the USDC accounts of two wallets. */
export function transfer(
  local: LocalChain,
  payer: Keypair,
  shop: Keypair,
  microUsd: bigint,
): TransactionInstruction {
  const from = local.controls.usdcAccount(payer.publicKey);
  const to = local.controls.usdcAccount(shop.publicKey);
  return createTransferCheckedInstruction(from, MINT, to, payer.publicKey, microUsd, USDC_DECIMALS);
}

/** Signs, by default with the newest blockhash. */
export function signed(
  local: LocalChain,
  payer: Keypair,
  instructions: readonly TransactionInstruction[],
  blockhash = local.chain.slots.blockhash(local.chain.slots.current),
): Transaction {
  const transaction = new Transaction({ feePayer: payer.publicKey, blockhash, lastValidBlockHeight: 0 });
  transaction.add(...instructions);
  transaction.sign(payer);
  return transaction;
}

/** Amount a wallet holds in its USDC account at this moment, in micro-USD. */
export async function usdcOf(local: LocalChain, wallet: Keypair, commitment = "processed"): Promise<bigint> {
  const account = local.controls.usdcAccount(wallet.publicKey).toBase58();
  const { value } = (await rpc(local, "getTokenAccountBalance", account, { commitment })) as {
    value: { amount: string };
  };
  return BigInt(value.amount);
}

/** The `error` member of a JSON-RPC answer. */
class RpcFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** One JSON-RPC call without a client library; returns `result` or throws the `error` member. */
export async function rpc(
  local: { readonly url: string },
  method: string,
  ...params: readonly unknown[]
): Promise<unknown> {
  const answer = (await (await post(local, { jsonrpc: "2.0", id: 1, method, params })).json()) as {
    result?: unknown;
    error?: { code: number; message: string; data?: unknown };
  };
  if (answer.error !== undefined) throw new RpcFailure(answer.error);
  return answer.result;
}

export function post(local: { readonly url: string }, body: unknown): Promise<Response> {
  return fetch(local.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
