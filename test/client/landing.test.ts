import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Keypair, PublicKey } from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keypairSigner, listPayments, memoryStore, payingFetch, paymentOf } from "../../src/client/index.ts";
import { MINT, offer, OWNER, startLiar, type Heard, type Liar } from "./hostile-gateway.ts";

/** Transfers on a chain that is slow, loses them or lets them fail. */

const PAY_TO = getAssociatedTokenAddressSync(new PublicKey(MINT), new PublicKey(OWNER)).toBase58();
const SUCCESS = { status: 200, body: { ok: true, result: {}, receipt: { receipt_id: "rcpt_1" } } };

let gateway: Liar;
let rpc: Liar;
let store: ReturnType<typeof memoryStore>;
beforeAll(async () => {
  [gateway, rpc] = await Promise.all([startLiar(), startLiar()]);
});
afterAll(async () => {
  await gateway.close();
  await rpc.close();
});
beforeEach(() => {
  gateway.heard.length = 0;
  rpc.heard.length = 0;
  store = memoryStore();
  gateway.say = ({ headers }) => ("x-payment" in headers ? SUCCESS : offer(PAY_TO));
});

/** Buys with a budget for one call. */
function buy(settleTimeoutMs = 10_000): Promise<Response> {
  const signer = keypairSigner(Keypair.generate());
  const limits = { maxPrice: 1000n, budget: 1000n, settleTimeoutMs };
  const fetch = payingFetch({ signer, ...limits, store, method: "transfer", rpcUrl: rpc.url });
  return fetch(`${gateway.url}/call`, { method: "POST", body: "{}" });
}

describe("a transfer", () => {
  const blockhash = Keypair.generate().publicKey.toBase58();
  const methodOf = ({ body }: Heard): string => JSON.parse(body).method;
  const sent = (): string[] =>
    rpc.heard
      .filter((one) => methodOf(one) === "sendTransaction")
      .map(({ body }) => JSON.parse(body).params[0]);

  /** A chain with the status of the n-th query from `status`. */
  function chain(status: (times: number) => object | null, height = 100): void {
    let times = 0;
    const results: Record<string, () => unknown> = {
      getLatestBlockhash: () => ({ value: { blockhash, lastValidBlockHeight: 250 } }),
      getBlockHeight: () => height,
      getSignatureStatuses: () => ({ value: [status((times += 1))] }),
      sendTransaction: () => "signature",
    };
    rpc.say = (request) => ({
      status: 200,
      body: { jsonrpc: "2.0", id: 1, result: results[methodOf(request)]?.() },
    });
  }

  it("sends the same bytes until they land, and repeats the call only then", async () => {
    chain((times) => {
      expect(gateway.heard).toHaveLength(1);
      return times < 3 ? null : { err: null, confirmationStatus: "confirmed" };
    });
    const response = await buy();
    expect(paymentOf(response)).toMatchObject({ method: "transfer", txSignature: expect.any(String) });
    expect(sent().length).toBeGreaterThan(1);
    expect(new Set(sent()).size).toBe(1);
  });

  it.each([
    [
      "failed on the chain",
      () => chain(() => ({ err: { InstructionError: [2, "x"] }, confirmationStatus: "confirmed" })),
    ],
    ["is absent when its blockhash has expired", () => chain(() => null, 251)],
  ])("restores the budget and sends no proof when a transfer %s", async (_, setUp) => {
    setUp();
    await expect(buy()).rejects.toMatchObject({ code: "PAYMENT_NOT_MADE", money: "not_moved" });
    expect(await store.list("payment/")).toEqual([]);
    expect(gateway.heard).toHaveLength(1);
    chain(() => ({ err: null, confirmationStatus: "finalized" }));
    gateway.heard.length = 0;
    expect((await buy()).status).toBe(200);
  });

  it("keeps a transfer in the store that was only processed", async () => {
    chain(() => ({ err: null, confirmationStatus: "processed" }));
    const call = buy(400);
    await expect(call).rejects.toMatchObject({ code: "PAYMENT_UNSETTLED", money: "sent" });
    expect(await listPayments(store)).toMatchObject([{ state: "signed", method: "transfer" }]);
    expect(gateway.heard).toHaveLength(1);
  });
});
