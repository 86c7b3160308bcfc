import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { lazyWalletPayments } from "../../../src/solana/index.ts";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { treasuryOf } from "../../../src/solana/core/treasury.ts";
import { patient } from "../network.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const treasury = treasuryOf("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T");
/** The signature identifies a transaction; here it is all zeros. */
const [TRANSACTION, SIGNATURE] = [new Uint8Array(100), "1".repeat(64)];
const called = z.object({ id: z.int(), method: z.string() });

let server: Server | undefined;
afterEach(() => {
  vi.doUnmock("../../../src/solana/deposits/wallet-payments.ts");
  server?.closeAllConnections();
  server?.close();
});

async function openPayments(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
) {
  server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const rpc = new SolanaRpc([`http://127.0.0.1:${port}/`], { clock: Date, log: silent, attemptMs: 5_000 });
  const warm = () => rpc.ask({ method: "getSlot", params: [], read: (result) => result, signal: patient() });
  return { warm, payments: lazyWalletPayments(rpc, treasury) };
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
    vi.doMock("../../../src/solana/deposits/wallet-payments.ts", () => {
      throw new Error("EMFILE: too many open files");
    });
    const { payments } = await openPayments(async (request, response) => {
      const { id } = called.parse(await json(request));
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: SIGNATURE }));
    });
    await expect(payments.send(TRANSACTION, patient())).rejects.toThrow();
    vi.doUnmock("../../../src/solana/deposits/wallet-payments.ts");
    await payments.send(TRANSACTION, patient());
  });
});
