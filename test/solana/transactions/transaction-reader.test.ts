import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { TransactionReader } from "../../../src/solana/transactions/transaction-reader.ts";
import { patient } from "../network.ts";
import * as fixture from "../transaction-fixture.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Request {
  id: number;
  method: string;
  params: [string, { maxSupportedTransactionVersion?: unknown }];
}

/** A node with one version 1 transaction, which it refuses unless the client requests that version. */
async function serveVersion1(asked: Request[]): Promise<TransactionReader> {
  server = createServer((incoming, response) => {
    void (async () => {
      const request = JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as Request;
      asked.push(request);
      const { id, params } = request;
      const known = params[1].maxSupportedTransactionVersion === 1;
      const error = {
        code: -32015,
        message: "Transaction version (1) is not supported by the requesting client",
      };
      response.end(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          ...(known ? { result: fixture.json({ version: 1 }) } : { error }),
        }),
      );
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rpc = new SolanaRpc([`http://127.0.0.1:${port}`], { clock: Date, log: silent, attemptMs: 1_000 });
  return new TransactionReader(rpc, fixture.RULES);
}

describe("TransactionReader", () => {
  it("requests the json encoding and version 1, and reads version 1 transactions", async () => {
    const asked: Request[] = [];
    const reader = await serveVersion1(asked);
    const found = await reader.read({ txSignature: fixture.TX, commitment: "confirmed", signal: patient() });
    expect(found?.evidence).toMatchObject({ kind: "paid", amount: fixture.AMOUNT });
    const options = { encoding: "json", commitment: "confirmed", maxSupportedTransactionVersion: 1 };
    expect(asked).toMatchObject([{ method: "getTransaction", params: [fixture.TX, options] }]);
  });
});
