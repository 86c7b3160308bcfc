import { z } from "zod";
import { readChat } from "./chat-answer.ts";
import type { Customer } from "./ground.ts";

/** A call as a customer sends it. */
export interface Call {
  readonly tool: string;
  readonly params: object;
  readonly key?: string | undefined;
  /** Over the OpenAI API, whole or streamed; undefined: over /v1. */
  readonly openai?: "whole" | "streamed" | undefined;
  /** PAYMENT-SIGNATURE or Authorization of a call without an API key; `proof` has its transaction. */
  readonly payment?: Readonly<Record<string, string>> | undefined;
  /** Its proof of payment. */
  readonly proof?: { readonly tx: string; readonly quoteId: string } | undefined;
}

const receipt = z.object({
  receipt_id: z.string(),
  run_id: z.string(),
  quoted_usdc_microusd: z.number(),
  debited_usdc_microusd: z.number(),
  paid_by: z.string(),
  tx_signature: z.string().nullable(),
});

/** The parts of a response that the labs check. */
const body = z.object({
  code: z.string().optional(),
  message: z.string().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  receipt: receipt.nullish(),
  quote: z.object({ quote_id: z.string(), price_usdc_microusd: z.number() }).optional(),
  step_id: z.string().optional(),
});

export type Body = z.output<typeof body>;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** The raw body. */
  readonly text: string;
  readonly body: Body;
}

/**
 * Sends a call once; without an API key to /x402.
 * @param ms hangs up after this time
 * @returns undefined for no response, or a part of it: the outcome is unknown
 */
export async function post(
  target: string,
  { apiKey }: Pick<Customer, "apiKey">,
  call: Call,
  ms: number,
): Promise<Reply | undefined> {
  const { tool, params, key, proof, openai, payment } = call;
  const idempotency = key !== undefined && (openai ? { "idempotency-key": key } : { idempotency_key: key });
  const own =
    apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}`, ...(proof && xPayment(proof)) };
  const headers = {
    "content-type": "application/json",
    ...own,
    ...payment,
    ...(openai && idempotency),
  };
  const [path, sent] =
    apiKey === undefined
      ? [`/x402/${tool}`, params]
      : openai
        ? ["/openai/v1/chat/completions", { ...params, ...(openai === "streamed" && { stream: true }) }]
        : ["/v1/mcp/tools/call", { tool, params, ...idempotency }];
  const reported = await exchange(target + path, headers, sent, ms);
  if (!reported || !openai) return reported && { ...reported, body: body.parse(JSON.parse(reported.text)) };
  const { status, json } = readChat(reported);
  // Chunks differ between repeats, and a repeat may ask for another form: what they say is compared.
  return { ...reported, status, text: JSON.stringify(json), body: body.parse(json) };
}

async function exchange(
  url: string,
  headers: Record<string, string>,
  sent: object,
  ms: number,
): Promise<Omit<Reply, "body"> | undefined> {
  const signal = AbortSignal.timeout(ms);
  try {
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(sent), signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch {
    return undefined;
  }
}

function xPayment({ tx, quoteId }: { tx: string; quoteId: string }): { "x-payment": string } {
  const proof = JSON.stringify({ tx, quote_id: quoteId });
  return { "x-payment": Buffer.from(proof).toString("base64url") };
}
