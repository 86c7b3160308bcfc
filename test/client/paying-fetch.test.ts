import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  keypairSigner,
  listPayments,
  memoryStore,
  payingFetch,
  paymentOf,
  PriceTooHighError,
  type Payment,
  type PaymentOptions,
} from "../../src/client/index.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  agent = await world.agent();
});

/** Options to pay with the agent's wallet, by a transfer. */
function paying(options: Partial<PaymentOptions> = {}): PaymentOptions {
  return {
    signer: keypairSigner(agent.wallet),
    maxPrice: "0.01",
    budget: "1.00",
    method: "transfer",
    rpcUrl: world.chain.url,
    ...options,
  };
}

function call(tool: string, params: object, headers: Record<string, string> = {}): [string, RequestInit] {
  return [
    `${world.gateway.baseUrl}/v1/mcp/tools/call`,
    {
      method: "POST",
      headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ tool, params }),
    },
  ];
}
const VRAM = { parameters_b: 7 };

async function receipts(): Promise<{ paid_by: string; tx_signature: string; debited_usdc_microusd: number }[]> {
  return (await world.get(agent, "/receipts")).body.items;
}

describe("a fetch that pays", () => {
  it("buys a call with a transfer, and tells what it cost", async () => {
    const told: Payment[] = [];
    const store = memoryStore();
    const fetch = payingFetch(paying({ store, onPayment: (payment) => void told.push(payment) }));
    const response = await fetch(...call("vram_estimate", VRAM));
    expect(response.status).toBe(200);
    const body: unknown = await response.json();
    expect(body).toMatchObject({ ok: true, receipt: { paid_by: "transfer", debited_usdc_microusd: 1000 } });
    const payment = paymentOf(response);
    expect(payment).toMatchObject({ tool: "vram_estimate", amount: 1000n, method: "transfer" });
    expect(await receipts()).toMatchObject([{ tx_signature: payment?.txSignature }]);
    expect(payment?.receipt).toMatchObject({ tx_signature: payment?.txSignature });
    expect(told).toEqual([payment]);
    expect(await listPayments(store)).toEqual([]);
  });

  it("passes on untouched what is free, what the balance pays, and what fails", async () => {
    const fetch = payingFetch(paying());
    const free = await fetch(...call("echo", { message: "hello" }));
    expect(await free.json()).toMatchObject({ result: { echo: "hello" } });
    expect(paymentOf(free)).toBeUndefined();
    expect((await fetch(...call("nothing", {}))).status).toBe(404);
    agent = await world.agent({ balance: 5000n });
    const paid = await fetch(...call("vram_estimate", VRAM));
    expect(await paid.json()).toMatchObject({ receipt: { paid_by: "balance" } });
    expect(paymentOf(paid)).toBeUndefined();
  });

  it("pays calls at once with one budget, and no more of them than it allows", async () => {
    const store = memoryStore();
    const fetch = payingFetch(paying({ store, budget: "0.003" }));
    const calls = await Promise.allSettled(Array.from({ length: 5 }, () => fetch(...call("vram_estimate", VRAM))));
    const refused = calls.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
    expect(refused).toHaveLength(2);
    for (const error of refused) expect(error).toBeInstanceOf(BudgetExceededError);
    expect(await receipts()).toHaveLength(3);
    // The budget is the store's: another fetch on it has nothing left.
    await expect(payingFetch(paying({ store, budget: "0.003" }))(...call("vram_estimate", VRAM))).rejects.toThrow(
      BudgetExceededError,
    );
  });

  it("pays nothing above the price that one call may have", async () => {
    const fetch = payingFetch(paying({ maxPrice: 999n }));
    await expect(fetch(...call("vram_estimate", VRAM))).rejects.toThrow(PriceTooHighError);
    expect(await receipts()).toEqual([]);
  });
});
