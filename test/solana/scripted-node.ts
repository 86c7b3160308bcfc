import { createServer, type Server } from "node:http";
import { listen } from "../support/servers.ts";

export interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A scripted RPC node; a thrown error becomes JSON-RPC error -32603. */
export class ScriptedNode {
  readonly url: string;
  readonly calls: Call[] = [];
  readonly #server: Server;

  static async start(answer: (call: Call) => unknown): Promise<ScriptedNode> {
    const calls: Call[] = [];
    const server = createServer((incoming, response) => {
      void (async () => {
        const call = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as Call & { id: number };
        calls.push(call);
        response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, ...outcome(answer, call) }));
      })();
    });
    return new ScriptedNode(server, calls, `http://127.0.0.1:${await listen(server)}`);
  }

  constructor(server: Server, calls: Call[], url: string) {
    this.#server = server;
    this.calls = calls;
    this.url = url;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function outcome(answer: (call: Call) => unknown, call: Call): { result: unknown } | { error: object } {
  try {
    return { result: answer(call) };
  } catch (error) {
    return { error: { code: -32603, message: String(error) } };
  }
}
