import { Agent, request, type IncomingHttpHeaders } from "node:http";
import { z } from "zod";
import type { Customer } from "./environment.ts";

/** A call as a customer sends it. */
export interface Call {
  readonly tool: string;
  readonly params: object;
  readonly key?: string | undefined;
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
  quote: z.object({ quote_id: z.string() }).optional(),
  step_id: z.string().optional(),
});

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The raw body. */
  readonly text: string;
  readonly body: z.output<typeof body>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });

/** Sends POST /v1/mcp/tools/call once. Undefined: no response, outcome unknown. */
export async function post(
  target: string,
  customer: Customer,
  { tool, params, key, proof }: Call,
  { ms }: Patience,
): Promise<Reply | undefined> {
  const sent = JSON.stringify({ tool, params, ...(key !== undefined && { idempotency_key: key }) });
  const headers = {
    authorization: `Bearer ${customer.apiKey}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(sent),
    ...(proof && { "x-payment": xPayment(proof) }),
  };
  const reported = await exchange(`${target}/v1/mcp/tools/call`, sent, headers, ms);
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
