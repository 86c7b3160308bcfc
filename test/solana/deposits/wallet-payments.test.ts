import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { lazyWalletPayments } from "../../../src/solana/index.ts";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { treasuryOf } from "../../../src/solana/core/treasury.ts";
import { patient } from "../network.ts";
import { closeServer, listen } from "../../support/servers.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const treasury = treasuryOf("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T");
/** The signature identifies a transaction; here it is all zeros. */
const [TRANSACTION, SIGNATURE] = [new Uint8Array(100), "1".repeat(64)];
const called = z.object({ id: z.int(), method: z.string() });

let server: Server;
afterEach(() => closeServer(server));

async function openPayments(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
  load?: Parameters<typeof lazyWalletPayments>[2],
) {
  server = createServer((request, response) => void answer(request, response));
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const rpc = new SolanaRpc([url], { clock: Date, log: silent, attemptMs: 60_000 });
  const warm = () => rpc.ask({ method: "getSlot", params: [], read: (result) => result, signal: patient() });
  return { warm, payments: lazyWalletPayments(rpc, treasury, load) };
}

describe("payments by wallets", () => {
  it("reports no rejection when the connection was lost after a possible send", async () => {
    let sent = 0;
    const { warm, payments } = await openPayments(async (request, response) => {
      const { id, method } = called.parse(await json(request));
      if (method !== "sendTransaction")
        return response.end(JSON.stringify({ jsonrpc: "2.0", id, result: 1 }));
      sent++;
      if (sent === 1) return request.socket.destroy();
      const error = {
        code: -32002,
        message: "Transaction simulation failed",
        data: { err: "BlockhashNotFound" },
      };
      return response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    });
    await warm();
    await expect(payments.send(TRANSACTION, patient())).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("send the same transaction again"),
    });
  });

  it("works after the transaction builder failed to load once", async () => {
    let loads = 0;
    const { payments } = await openPayments(
      async (request, response) => {
        const { id } = called.parse(await json(request));
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: SIGNATURE }));
      },
      () => {
        loads += 1;
        if (loads === 1) return Promise.reject(new Error("EMFILE: too many open files"));
        return import("../../../src/solana/deposits/wallet-payments.ts");
      },
    );
    await expect(payments.send(TRANSACTION, patient())).rejects.toThrow("EMFILE");
    await payments.send(TRANSACTION, patient());
  });
});
