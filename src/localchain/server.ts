import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Chain } from "./engine.ts";
import type { Faults } from "./faults.ts";
import { answer, TransportFault } from "./json-rpc.ts";
import { writeJson, type Json } from "./json.ts";
import { PARSE_ERROR } from "./rpc/params.ts";

/** More than any request needs; validators allow 50 KiB per call and batches of them. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** JSON-RPC 2.0 over HTTP POST, single requests and batches, open to pages of any origin. */
export function createHttpServer(chain: Chain, faults: Faults): Server {
  // Longer than clients keep idle connections: one that sends on a connection just closed sees it reset.
  return createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    response.setHeader("Access-Control-Allow-Origin", "*");
    if (request.method === "OPTIONS") {
      response.setHeader("Access-Control-Allow-Methods", "POST, GET");
      response.setHeader("Access-Control-Allow-Headers", "content-type, solana-client");
      response.writeHead(204).end();
    } else if (request.method === "GET" && request.url === "/health") {
      response.end("ok");
    } else if (request.method !== "POST") {
      response
        .writeHead(405, { Allow: "POST" })
        .end("Used HTTP Method is not allowed. POST or OPTIONS is required");
    } else {
      void respond(chain, faults, request, response);
    }
  });
}

async function respond(
  chain: Chain,
  faults: Faults,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const body = await readBody(request);
    if (body === undefined) {
      response.writeHead(413).end("Payload too large");
      return;
    }
    const result = await answerBody(chain, faults, body);
    if (result === undefined) {
      response.writeHead(204).end();
      return;
    }
    response.setHeader("Content-Type", "application/json; charset=utf-8");
    response.end(writeJson(result));
  } catch (error) {
    if (error instanceof TransportFault) sendFault(error, response);
    else response.destroy(); // the client went away in the middle of its request
  }
}

async function answerBody(chain: Chain, faults: Faults, body: string): Promise<Json | undefined> {
  let request: unknown;
  try {
    request = JSON.parse(body);
  } catch {
    return { jsonrpc: "2.0", error: { code: PARSE_ERROR, message: "Parse error" }, id: null };
  }
  if (!Array.isArray(request) || request.length === 0) return answer(chain, faults, request);
  const answers: Json[] = [];
  for (const each of request as readonly unknown[]) {
    const one = await answer(chain, faults, each);
    if (one !== undefined) answers.push(one);
  }
  return answers.length === 0 ? undefined : answers;
}

function sendFault({ fault }: TransportFault, response: ServerResponse): void {
  if (fault.kind === "hang") return;
  if (fault.kind === "garbage") {
    response.end("<html>upstream said something else</html>");
    return;
  }
  if (fault.retryAfterSeconds !== undefined) response.setHeader("Retry-After", fault.retryAfterSeconds);
  response.writeHead(fault.status).end(`Injected status ${fault.status}`);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
