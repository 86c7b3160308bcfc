import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

/** Faults of an RPC provider. "stale" is set on the chain: both providers lag and miss new payments. */
export const RPC_FAULTS = [
  "silence",
  "slow",
  "reset",
  "429",
  "500",
  "garbage",
  "null",
  "behind",
  "stale",
] as const;

export type RpcFault = (typeof RPC_FAULTS)[number];

const asked = z.object({ id: z.unknown(), method: z.string() });

/** An RPC provider in front of the chain that fails on demand. */
export class RpcEndpoint {
  readonly url: string;
  readonly #server: Server;
  readonly #chainUrl: string;
  readonly #onStruck: (fault: RpcFault) => void;
  #fault: RpcFault | undefined;

  private constructor(server: Server, url: string, chainUrl: string, onStruck: (fault: RpcFault) => void) {
    this.#server = server;
    this.url = url;
    this.#chainUrl = chainUrl;
    this.#onStruck = onStruck;
  }

  static async open(chainUrl: string, onStruck: (fault: RpcFault) => void): Promise<RpcEndpoint> {
    const server = createServer((request, response) => void endpoint.#serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("the endpoint has no port");
    const endpoint = new RpcEndpoint(server, `http://127.0.0.1:${address.port}`, chainUrl, onStruck);
    return endpoint;
  }

  /** Fails this way from now on; undefined: works again. */
  fail(fault: RpcFault | undefined): void {
    this.#fault = fault;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await buffer(request);
      const fault = this.#fault;
      if (fault) this.#onStruck(fault);
      switch (fault) {
        case "silence":
          return;
        case "reset":
          request.socket.resetAndDestroy();
          return;
        case "429":
          response.writeHead(429, { "retry-after": "1" }).end();
          return;
        case "500":
          response.writeHead(500).end("no");
          return;
        case "garbage":
          response
            .writeHead(200, { "content-type": "application/json" })
            .end("<html>one moment please</html>");
          return;
        case "null":
        case "behind":
          answer(response, body, fault);
          return;
        case "slow":
          await sleep(500);
          break;
        case "stale":
        case undefined:
      }
      const reported = await fetch(this.#chainUrl, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      response
        .writeHead(reported.status, { "content-type": "application/json" })
        .end(Buffer.from(await reported.arrayBuffer()));
    } catch {
      response.destroy();
    }
  }
}

/** "null": finds no transaction. "behind": answers like a lagging node. */
function answer(response: ServerResponse, body: Buffer, fault: "null" | "behind"): void {
  const { id, method } = asked.parse(JSON.parse(body.toString("utf8")));
  const statuses = method === "getSignatureStatuses";
  const known = fault === "behind" ? { context: { apiVersion: "2.2.0", slot: 1 }, value: [null] } : null;
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: statuses ? known : null }));
}
