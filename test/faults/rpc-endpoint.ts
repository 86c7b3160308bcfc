import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { closeServer, listen } from "../support/servers.ts";

/** Faults of an RPC provider. "stale" is set on the chain: both providers lag and miss new payments. */
export const RPC_FAULTS = [
  ...(["silence", "slow", "reset", "429", "500", "garbage", "null", "behind", "stale"] as const),
];

export type RpcFault = (typeof RPC_FAULTS)[number];

const JSON_TYPE = { "content-type": "application/json" };

const asked = z.object({ id: z.unknown(), method: z.string() });

/** An RPC provider in front of the chain that fails on demand. */
export interface RpcEndpoint {
  readonly url: string;
  /** Fails this way from now on; undefined: works again. */
  fail(fault: RpcFault | undefined): void;
  close(): Promise<void>;
}

/** @param onStruck called for each request that fails */
export async function openRpcEndpoint(chainUrl: string, onStruck: () => void): Promise<RpcEndpoint> {
  let fault: RpcFault | undefined;
  const server = createServer((request, response) => {
    if (fault) onStruck();
    serve(request, response, chainUrl, fault).catch(() => response.destroy());
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    fail: (next) => void (fault = next),
    close: () => closeServer(server),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  chainUrl: string,
  fault: RpcFault | undefined,
): Promise<void> {
  const body = await text(request);
  if (fault === "silence") return;
  if (fault === "reset") return void request.socket.resetAndDestroy();
  if (fault === "429") return void response.writeHead(429, { "retry-after": "1" }).end();
  if (fault === "500") return void response.writeHead(500).end("no");
  if (fault === "slow") await sleep(500);
  let answer = "<html>one moment please</html>";
  if (fault === "null" || fault === "behind") answer = emptyAnswer(body, fault);
  else if (fault !== "garbage")
    answer = await (await fetch(chainUrl, { method: "POST", headers: JSON_TYPE, body })).text();
  response.writeHead(200, JSON_TYPE).end(answer);
}

/** "null": finds no transaction. "behind": answers like a lagging node. */
function emptyAnswer(body: string, fault: "null" | "behind"): string {
  const { id, method } = asked.parse(JSON.parse(body));
  const statuses = method === "getSignatureStatuses" && fault === "behind";
  const known = { context: { apiVersion: "2.2.0", slot: 1 }, value: [null] };
  return JSON.stringify({ jsonrpc: "2.0", id, result: statuses ? known : null });
}
