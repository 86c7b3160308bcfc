import { base58 } from "@scure/base";
import { z } from "zod";
import type { RecentBlockhash } from "../../app/payments/gasless/relay-port.ts";
import type { RpcRequest } from "../rpc/endpoint.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { transactionErrorSchema } from "../transactions/transaction-json.ts";

const blockHeight = z.int().nonnegative().transform(BigInt);
const latestSchema = z.object({
  value: z.object({ blockhash: z.string(), lastValidBlockHeight: blockHeight }),
});
const validSchema = z.object({ value: z.boolean() });
const simulationSchema = z.object({ value: z.object({ err: transactionErrorSchema }) });
const balanceSchema = z.object({ value: z.int().nonnegative().transform(BigInt) });
/** Requests the latest blockhash and its last valid block height. */
export function latestRequest(signal: AbortSignal): RpcRequest<RecentBlockhash> {
  return {
    method: "getLatestBlockhash",
    params: [{ commitment: "confirmed" }],
    read: (answer) => latestSchema.parse(answer).value,
    signal,
  };
}

/** Requests the balance of an address, lamports. */
export function lamportsRequest(address: string, signal: AbortSignal): RpcRequest<bigint> {
  return {
    method: "getBalance",
    params: [address, { commitment: "confirmed" }],
    read: (answer) => balanceSchema.parse(answer).value,
    signal,
  };
}

export function validRequest(blockhash: string, signal: AbortSignal): RpcRequest<boolean> {
  return {
    method: "isBlockhashValid",
    params: [blockhash, { commitment: "processed" }],
    read: (answer) => validSchema.parse(answer).value,
    signal,
  };
}

export function heightRequest(
  commitment: "processed" | "finalized",
  signal: AbortSignal,
): RpcRequest<bigint> {
  return {
    method: "getBlockHeight",
    params: [{ commitment }],
    read: (answer) => blockHeight.parse(answer),
    signal,
  };
}

/** Simulates a transaction: why it would fail, or null. */
export function simulationRequest(signedTransaction: Uint8Array, signal: AbortSignal): RpcRequest<unknown> {
  const options = { encoding: "base64", sigVerify: true, commitment: "processed" };
  return {
    method: "simulateTransaction",
    params: [Buffer.from(signedTransaction).toString("base64"), options],
    read: (answer) => simulationSchema.parse(answer).value.err,
    signal,
  };
}

/** Submits a transaction. Skips preflight, which would repeat the simulation and delay retries. */
export function sendRequest(signedTransaction: Uint8Array, signal: AbortSignal): RpcRequest<void> {
  return sendingRequest(signedTransaction, { skipPreflight: true }, signal);
}

/** Submits a transaction after preflight. A refusal proves that it was not submitted. */
export function preflightRequest(signedTransaction: Uint8Array, signal: AbortSignal): RpcRequest<void> {
  return { ...sendingRequest(signedTransaction, { preflightCommitment: "confirmed" }, signal), once: true };
}

function sendingRequest(
  signedTransaction: Uint8Array,
  options: { readonly [name: string]: string | boolean },
  signal: AbortSignal,
): RpcRequest<void> {
  const txSignature = base58.encode(signedTransaction.subarray(1, 65));
  return {
    method: "sendTransaction",
    params: [Buffer.from(signedTransaction).toString("base64"), { encoding: "base64", ...options }],
    read: (answer) => {
      if (answer !== txSignature) throw new MalformedAnswer("the answer is not the transaction's signature");
    },
    signal,
  };
}
