import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { x402Facilitator } from "@x402/core/facilitator";
import {
  x402HTTPResourceServer,
  x402ResourceServer,
  type HTTPAdapter,
  type HTTPRequestContext,
} from "@x402/core/server";
import { toFacilitatorSvmSigner } from "@x402/svm";
import { ExactSvmScheme as FacilitatorScheme } from "@x402/svm/exact/facilitator";
import { ExactSvmScheme } from "@x402/svm/exact/server";
import { z } from "zod";

// A paid tool sold with the official x402 library behind node:http or express, with the facilitator in the
// same process.
// node test/bench/x402-peer/main.ts node:http|express <answer> <price> <pay to> <RPC URL> <fee payer's file>

const NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const PATH = "/v1/mcp/tools/call";
const [front, sold = "{}", amount = "", payTo = "", rpcUrl = "", keyFile = ""] = process.argv.slice(2);
const asset = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";

const secretKey = z.array(z.int()).parse(JSON.parse(await readFile(keyFile, "utf8")));
const signer = await createKeyPairSignerFromBytes(Uint8Array.from(secretKey));
const facilitator = new x402Facilitator().register(
  NETWORK,
  new FacilitatorScheme(toFacilitatorSvmSigner(signer, { defaultRpcUrl: rpcUrl })),
);
const seller = new x402HTTPResourceServer(
  new x402ResourceServer({
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    async getSupported() {
      const { kinds, ...rest } = facilitator.getSupported();
      return { ...rest, kinds: kinds.map((kind) => ({ ...kind, network: NETWORK })) };
    },
  }).register(NETWORK, new ExactSvmScheme()),
  {
    [`POST ${PATH}`]: {
      accepts: { scheme: "exact", network: NETWORK, payTo, price: { amount, asset }, maxTimeoutSeconds: 60 },
      description: "one call",
      mimeType: "application/json",
    },
  },
);
await seller.initialize();

const server = createServer(front === "express" ? expressApp() : read);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`${JSON.stringify({ port: address?.port })}\n`);
});

function read(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => respond(request, JSON.parse(Buffer.concat(chunks).toString()), response));
}

/** Express with its JSON parser, as in the official MCP library. */
function expressApp(): RequestListener {
  const app = createMcpExpressApp();
  app.post(PATH, (request: IncomingMessage & { body: unknown }, response: ServerResponse) =>
    respond(request, request.body, response),
  );
  return app;
}

function respond(request: IncomingMessage, body: unknown, response: ServerResponse): void {
  answer(contextOf(request, body), response).catch((error: unknown) =>
    response.writeHead(500).end(String(error)),
  );
}

/** An answer before it is written. */
interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

async function answer(context: HTTPRequestContext, response: ServerResponse): Promise<void> {
  const { status, headers, body } = await sell(context);
  const text = JSON.stringify(body);
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
}

/** The library's middlewares: a 402, or verify, run, settle. */
async function sell(context: HTTPRequestContext): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const outcome = await seller.processHTTPRequest(context);
  if (outcome.type === "no-payment-required") throw new Error("the route is not sold");
  if (outcome.type === "payment-error") {
    const { response } = outcome;
    return {
      status: response.status,
      headers: { ...headers, ...response.headers },
      body: response.body ?? {},
    };
  }
  const { paymentPayload, paymentRequirements, declaredExtensions } = outcome;
  const settled = await seller.processSettlement(paymentPayload, paymentRequirements, declaredExtensions);
  if (!settled.success) throw new Error(`not settled: ${settled.errorReason}`);
  return { status: 200, headers: { ...headers, ...settled.headers }, body: JSON.parse(sold) };
}

function contextOf(request: IncomingMessage, body: unknown): HTTPRequestContext {
  const header = (name: string) => {
    const value = request.headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  };
  const { method = "", url = "" } = request;
  const adapter: HTTPAdapter = {
    getHeader: header,
    getMethod: () => method,
    getPath: () => url,
    getUrl: () => `http://${header("host")}${url}`,
    getAcceptHeader: () => header("accept") ?? "",
    getUserAgent: () => header("user-agent") ?? "",
    getBody: () => body,
  };
  return { adapter, path: url, method };
}
