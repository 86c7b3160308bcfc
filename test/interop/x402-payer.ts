import { createKeyPairSignerFromBytes } from "@solana/kit";
import { Connection, type Keypair } from "@solana/web3.js";
import { x402Client, x402HTTPClient } from "@x402/core/client";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { ExactSvmScheme } from "@x402/svm";
import { ExactSvmSchemeV1 } from "@x402/svm/v1";
import { wrapFetchWithPayment } from "@x402/fetch";
import type { Agent, World } from "../support/world.ts";

/**
 * Slots in which a client has the time to sign and to send, however busy the machine is: a blockhash lives
 * for 150 of them.
 */
export const SLOT_MS = 150;

/** The official x402 client with USDC and no SOL, and its requests. */
export interface X402Payer {
  readonly wallet: Keypair;
  /** The agents' replacement of `fetch`. */
  readonly fetch: typeof fetch;
  /** The client's PAYMENT-SIGNATURE for a 402's PAYMENT-REQUIRED. */
  sign(paymentRequired: string, change?: (payload: Payload) => void): Promise<string>;
  /** Every request that `fetch` has sent: its proofs, and the status and headers of the response. */
  readonly exchanges: Exchange[];
  /** Micro-USD that the key holds. */
  usdc(): Promise<bigint>;
  lamports(): Promise<number>;
}

/** A payload of the client; an attacker may change it. */
export interface Payload {
  payload: Record<string, unknown>;
  accepted: { amount: string; extra: Record<string, unknown> } & Record<string, unknown>;
  extensions?: Record<string, { info: Record<string, unknown> }>;
  [member: string]: unknown;
}

export interface Exchange {
  readonly proofs: { paymentSignature: string | undefined; xPayment: string | undefined };
  readonly status: number;
  readonly headers: Headers;
}

/** Versions of the client: version 1 never reads PAYMENT-REQUIRED. */
export async function x402Payer(world: World, version: 1 | 2 = 2, microUsd = 1_000_000n): Promise<X402Payer> {
  const wallet = world.chain.controls.createWallet({ lamports: 0n, microUsd });
  const signer = await createKeyPairSignerFromBytes(wallet.secretKey);
  const client = new x402Client();
  const config = { rpcUrl: world.chain.url };
  if (version === 2) client.register("solana:*", new ExactSvmScheme(signer, config));
  else client.registerV1("solana", new ExactSvmSchemeV1(signer, config));
  const connection = new Connection(world.chain.url);
  const http = new x402HTTPClient(client);
  const exchanges: Exchange[] = [];
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const proofs = {
      paymentSignature: request.headers.get("payment-signature") ?? undefined,
      xPayment: request.headers.get("x-payment") ?? undefined,
    };
    const response = await fetch(request);
    exchanges.push({ proofs, status: response.status, headers: new Headers(response.headers) });
    if (version === 2) return response;
    const headers = new Headers(response.headers);
    headers.delete("payment-required");
    const { status } = response;
    return new Response(status === 202 ? null : await response.text(), { status, headers });
  };
  return {
    wallet,
    exchanges,
    fetch: wrapFetchWithPayment(watched, client),
    async sign(paymentRequired, change) {
      const offer = decodePaymentRequiredHeader(paymentRequired);
      const payload: unknown = JSON.parse(JSON.stringify(await client.createPaymentPayload(offer)));
      const changed = payload as Payload;
      change?.(changed);
      const made = http.encodePaymentSignatureHeader(changed as never);
      return made["PAYMENT-SIGNATURE"] ?? "";
    },
    async usdc() {
      const account = world.chain.controls.usdcAccount(wallet.publicKey);
      return BigInt((await connection.getTokenAccountBalance(account, "processed")).value.amount);
    },
    lamports: () => connection.getBalance(wallet.publicKey, "processed"),
  };
}

export function withKey(agent: Agent, inner: typeof fetch): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("Authorization", `Bearer ${agent.apiKey}`);
    return inner(input, { ...init, headers });
  };
}
