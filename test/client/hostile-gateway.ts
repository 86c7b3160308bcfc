import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { Keypair } from "@solana/web3.js";
import { closeServer, listen } from "../support/servers.ts";

export interface Heard {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Said {
  readonly status: number;
  /** JSON; a text is sent unchanged. */
  readonly body: object | string;
  readonly headers?: Record<string, string>;
  /** The connection breaks before the end. */
  readonly cut?: boolean;
}

/** A gateway or RPC server with scripted responses. */
export interface Liar {
  readonly url: string;
  readonly heard: Heard[];
  say: (request: Heard, times: number) => Said;
  close(): Promise<void>;
}

export async function startLiar(): Promise<Liar> {
  const liar: Omit<Liar, "url" | "close"> = { heard: [], say: () => ({ status: 500, body: {} }) };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const heard = { path: request.url ?? "", headers: request.headers, body: await textOf(request) };
    const said = liar.say(heard, liar.heard.push(heard));
    response.writeHead(said.status, { "content-type": "application/json", ...said.headers });
    const text = typeof said.body === "string" ? said.body : JSON.stringify(said.body);
    if (said.cut) response.write(text, () => response.destroy());
    else response.end(text);
  };
  const server = createServer((request, response) => void answer(request, response));
  const url = `http://127.0.0.1:${await listen(server)}`;
  return Object.assign(liar, { url, close: () => closeServer(server) });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

export const OWNER = Keypair.generate().publicKey.toBase58();
export const FEE_PAYER = Keypair.generate().publicKey.toBase58();
const BLOCKHASH = Keypair.generate().publicKey.toBase58();
export const QUOTE_ID = "qt_3mJr7AoUXx2Wqd";
const PRICE = 1000;
export const MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";

export interface Lie {
  readonly quote?: object;
  readonly instructions?: object;
  /** The one entry of `accepts` in PAYMENT-REQUIRED. */
  readonly terms?: object;
  readonly extra?: object;
}

/** A 402 response of an honest gateway, except for the lie. */
export function offer(payTo: string, { quote, instructions, terms, extra }: Lie = {}): Said {
  const accepts = {
    scheme: "exact",
    network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    amount: String(PRICE),
    asset: MINT,
    payTo: OWNER,
    maxTimeoutSeconds: 60,
    extra: {
      feePayer: FEE_PAYER,
      memo: `svc:${QUOTE_ID}`,
      recentBlockhash: BLOCKHASH,
      lastValidBlockHeight: "9000",
      ...extra,
    },
    ...terms,
  };
  const header = { x402Version: 2, resource: { url: "http://127.0.0.1/" }, accepts: [accepts] };
  return {
    status: 402,
    headers: { "payment-required": Buffer.from(JSON.stringify(header)).toString("base64") },
    body: {
      code: "PAYMENT_REQUIRED",
      message: "pay",
      request_id: "req_1",
      quote: {
        quote_id: QUOTE_ID,
        tool: "vram_estimate",
        price_usdc_microusd: PRICE,
        amount_usdc_microusd: PRICE,
        price_display: "$0.001",
        ttl_seconds: 300,
        expires_at: new Date(Date.now() + 300_000).toISOString(),
        ...quote,
      },
      payment_instructions: {
        network: "solana-mainnet",
        asset: "USDC",
        pay_to: payTo,
        destination: payTo,
        usdc_mint: MINT,
        memo_format: "<step_id>:<quote_id>:<nonce>",
        methods: ["x402_header"],
        x402_header_format: "",
        gasless_supported: true,
        payment_methods: ["wallet", "gasless"],
        fee_payer: FEE_PAYER,
        treasury_owner: OWNER,
        ...instructions,
      },
      step_id: `step_${"0".repeat(32)}`,
      retry: { method: "POST", headers: { "X-Payment": "" } },
    },
  };
}

export function failure(status: number, code: string, headers: Record<string, string> = {}): Said {
  return { status, body: { code, message: `said ${code}`, request_id: "req_2" }, headers };
}
