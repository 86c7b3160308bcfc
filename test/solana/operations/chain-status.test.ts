import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { SolanaStatus } from "../../../src/solana/operations/chain-status.ts";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { treasuryOf } from "../../../src/solana/core/treasury.ts";
import { closeServer, listen } from "../../support/servers.ts";

const OWNER = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T";
const KEY = "s3cr3t";

const asked = z.object({ id: z.number(), method: z.string() });

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map(closeServer)));

/**
 * An endpoint with scripted responses: an object is merged into the response, a text replaces it, undefined
 * sends none.
 */
async function endpoint(answer: (method: string) => object | string | undefined): Promise<string> {
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { id, method } = asked.parse(await json(request));
    const reported = answer(method);
    if (reported !== undefined)
      response.end(
        typeof reported === "string" ? reported : JSON.stringify({ jsonrpc: "2.0", id, ...reported }),
      );
  };
  const server = createServer((request, response) => void serve(request, response));
  servers.push(server);
  return `127.0.0.1:${await listen(server)}`;
}

const healthy = (slot: number, held: string) => (method: string) => {
  if (method === "getSlot") return { result: slot };
  return { result: { value: method === "getBalance" ? 7 : { amount: held } } };
};

function lookAt(...hosts: readonly string[]) {
  const options = {
    clock: { now: () => Date.now() },
    log: { info() {}, warn() {}, error() {} },
    attemptMs: 3_000,
  };
  const rpc = new SolanaRpc(
    hosts.map((host) => `http://user:${KEY}@${host}/${KEY}?api-key=${KEY}`),
    options,
  );
  return new SolanaStatus(rpc, treasuryOf(OWNER)).check(OWNER);
}

describe("ChainStatus", () => {
  it("returns the slot of each endpoint, and balances from the first that answers", async () => {
    const hosts = await Promise.all([
      endpoint(() => "no"),
      endpoint(healthy(40, "5")),
      endpoint(healthy(42, "6")),
    ]);
    const { endpoints, held, lamports } = await lookAt(...hosts);
    expect(endpoints.map(({ host }) => host)).toEqual(hosts);
    expect(endpoints.map(({ slot }) => slot)).toEqual([undefined, 40n, 42n]);
    expect(endpoints.map(({ problem }) => problem === undefined)).toEqual([false, true, true]);
    expect(endpoints[1]?.latencyMs).toBeGreaterThanOrEqual(0);
    expect({ held, lamports }).toEqual({ held: 5n, lamports: 7n });
  });

  it("returns its own error texts, because an endpoint's may contain the key", async () => {
    const hosts = await Promise.all([
      endpoint(() => ({ error: { code: -32602, message: `the key ${KEY} is bad` } })),
      endpoint(() => KEY),
      endpoint(() => ({ error: { code: -32005, message: `Node is behind for ${KEY}` } })),
      endpoint(() => undefined),
    ]);
    const { endpoints, held, lamports } = await lookAt(...hosts, "127.0.0.1:1");
    const problems = endpoints.map(({ problem }) => problem);
    expect(problems.join()).not.toContain(KEY);
    expect(problems).toEqual([
      "answers with the JSON-RPC error -32602",
      "gives answers that cannot be used",
      "says that it is not healthy",
      "did not answer within 2 s",
      expect.stringMatching(/ECONNREFUSED|network/),
    ]);
    expect({ held, lamports }).toEqual({ held: undefined, lamports: undefined });
  });
});
