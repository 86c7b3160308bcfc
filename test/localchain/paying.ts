import { createTransferCheckedInstruction } from "@solana/spl-token";
import {
  Connection,
  PublicKey,
  Transaction,
  TransactionInstruction,
  type Commitment,
  type Keypair,
} from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { startLocalChain, USDC_DECIMALS, USDC_MINT, type LocalChain } from "../../src/localchain/index.ts";

export const MINT = new PublicKey(USDC_MINT);
const MEMO_PROGRAM = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");

/** A chain with what most tests of it need. */
export interface ChainScene extends LocalChain {
  connection: Connection;
  /** Wallets of one test; the shop has no USDC. */
  payer: Keypair;
  shop: Keypair;
  /** A signed transfer from the payer to the shop, with more instructions after it. */
  payment(microUsd: bigint, ...more: readonly TransactionInstruction[]): Transaction;
  /** @returns the signature */
  send(transaction: Transaction): Promise<string>;
  read(signature: string): ReturnType<Connection["getTransaction"]>;
}

interface SceneOptions {
  microUsd?: bigint;
  slotMs?: number;
  commitment?: Commitment;
}

/** A chain for a `describe`; with slots of 0 ms, only the tests create slots. */
export function useChain({
  microUsd = 100n,
  slotMs = 0,
  commitment = "confirmed",
}: SceneOptions = {}): ChainScene {
  const local = {} as ChainScene;
  beforeAll(async () => {
    Object.assign(local, await startLocalChain({ slotMs }));
    local.connection = new Connection(local.url, commitment);
  });
  local.payment = (amount, ...more) =>
    signed(local, local.payer, [transfer(local, local.payer, local.shop, amount), ...more]);
  local.send = (transaction) => local.connection.sendRawTransaction(transaction.serialize());
  local.read = (signature) =>
    local.connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
  beforeEach(() => {
    local.payer = local.controls.createWallet({ microUsd });
    local.shop = local.controls.createWallet({ microUsd: 0n });
  });
  afterAll(() => local.close());
  return local;
}

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
