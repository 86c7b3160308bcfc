import { Agent, request, type IncomingHttpHeaders } from "node:http";
import { z } from "zod";
import { readChat } from "./chat-answer.ts";
import type { Customer } from "./environment.ts";

/** A call as a customer sends it. */
export interface Call {
  readonly tool: string;
  readonly params: object;
  readonly key?: string | undefined;
  /** Over the OpenAI API, whole or streamed; undefined: over /v1. */
  readonly openai?: "whole" | "streamed" | undefined;
  /** PAYMENT-SIGNATURE of a call without an API key; `proof` has its transaction. */
  readonly paymentSignature?: string | undefined;
  /** Its proof of payment. */
  readonly proof?: { readonly tx: string; readonly quoteId: string } | undefined;
}

/** How long the customer waits. */
export interface Patience {
  /** Hangs up after this time, ms. */
  readonly ms: number;
}

const receipt = z.object({
  receipt_id: z.string(),
  run_id: z.string(),
  quoted_usdc_microusd: z.number(),
  debited_usdc_microusd: z.number(),
  paid_by: z.string(),
  tx_signature: z.string().nullable(),
});

/** The parts of a response that the tests check. */
const body = z.object({
  ok: z.boolean().optional(),
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
  readonly headers: IncomingHttpHeaders;
  /** The raw body. */
  readonly text: string;
  readonly body: Body;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });

/** Sends a call once. Undefined: no response, or a part of it; the outcome is unknown. */
export async function post(
  target: string,
  customer: Customer,
  call: Call,
  { ms }: Patience,
): Promise<Reply | undefined> {
  if (customer.apiKey === undefined) return buyByWallet(target, call, ms);
  const { tool, params, key, proof, openai } = call;
  const sent = JSON.stringify(
    openai
      ? { ...params, ...(openai === "streamed" && { stream: true }) }
      : { tool, params, ...(key !== undefined && { idempotency_key: key }) },
  );
  const headers = {
    authorization: `Bearer ${customer.apiKey}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(sent),
    ...(openai && key !== undefined && { "idempotency-key": key }),
    ...(proof && { "x-payment": xPayment(proof) }),
  };
  const path = openai ? "/openai/v1/chat/completions" : "/v1/mcp/tools/call";
  const reported = await exchange(target + path, sent, headers, ms);
  if (!reported || !openai) return reported && { ...reported, body: body.parse(JSON.parse(reported.text)) };
  const { status, json } = readChat(reported);
  // Chunks differ between repeats, and a repeat may ask for another form: what they say is compared.
  return { ...reported, status, text: JSON.stringify(json), body: body.parse(json) };
}

/** Sends POST /x402/{tool} once. */
async function buyByWallet(
  target: string,
  { tool, params, paymentSignature }: Call,
  ms: number,
): Promise<Reply | undefined> {
  const sent = JSON.stringify(params);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(sent),
    ...(paymentSignature !== undefined && { "payment-signature": paymentSignature }),
  };
  const reported = await exchange(`${target}/x402/${tool}`, sent, headers, ms);
  return reported && { ...reported, body: body.parse(JSON.parse(reported.text)) };
}

function xPayment({ tx, quoteId }: { tx: string; quoteId: string }): string {
  return Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
}

function exchange(
  url: string,
  sent: string,
  headers: Record<string, string | number>,
  ms: number,
): Promise<Omit<Reply, "body"> | undefined> {
  return new Promise((resolve) => {
    const asked = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("error", () => {});
      response.on("close", () => {
        clearTimeout(timer);
        resolve(
          response.complete
            ? { status: response.statusCode ?? 0, headers: response.headers, text }
            : undefined,
        );
      });
    });
    const timer = setTimeout(() => asked.destroy(), ms);
    asked.on("error", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    asked.end(sent);
  });
}
