import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { VersionedTransaction, type Keypair } from "@solana/web3.js";
import { beforeEach, describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  CallError,
  keypairSigner,
  listPayments,
  memoryStore,
  PaidBy,
  payingFetch,
  PaymentNotMadeError,
  paymentOf,
  PriceTooHighError,
  ToolgateClient,
  walletSigner,
  type Payment,
  type PaymentOptions,
} from "../../src/client/index.ts";
import { useWorld } from "../support/use-world.ts";
import { type Agent } from "../support/world.ts";

/** The client package against a real gateway, database and chain. */

const PARAMS = { parameters_b: 7 };
const PRICE = 1000n;

const world = useWorld();
let agent: Agent;
beforeEach(async () => void (agent = await world.agent()));

function paying(options: Partial<PaymentOptions> = {}): PaymentOptions {
  const { wallet } = agent;
  return {
    signer: keypairSigner(wallet),
    maxPrice: "0.01",
    budget: "1.00",
    method: "transfer",
    rpcUrl: world.chain.url,
    treasury: world.treasury.publicKey.toBase58(),
    ...options,
  };
}

/** Options to pay with a wallet that has USDC and no SOL, without a chain. */
function gasless(wallet: Keypair = world.chain.controls.createWallet({ microUsd: PRICE, lamports: 0n })) {
  const { rpcUrl: _rpcUrl, ...options } = paying({ signer: keypairSigner(wallet), method: "gasless" });
  return options;
}

function call(
  tool: string,
  params: object,
  headers: Record<string, string> = {},
): [string, RequestInit & { body: string }] {
  return [
    `${world.gateway.baseUrl}/v1/mcp/tools/call`,
    {
      method: "POST",
      headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ tool, params }),
    },
  ];
}

async function listed<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

interface Bill {
  paid_by: string;
  tx_signature: string;
  debited_usdc_microusd: number;
}

async function receipts(): Promise<Bill[]> {
  return (await world.get(agent, "/receipts")).body.items;
}

const MODES: readonly (readonly [string, VersionNegotiationMode | "first line"])[] = [
  ["of the first line", "first line"],
  ["that opens with initialize", "legacy"],
  ["that speaks 2026-07-28", { pin: "2026-07-28" }],
];

describe("the paying fetch", () => {
  it.each(["transfer", "gasless"] as const)("buys a call by %s, and reports the cost", async (method) => {
    const reported: Payment[] = [];
    const store = memoryStore();
    const options = method === "gasless" ? gasless() : paying();
    const fetch = payingFetch({ ...options, store, onPayment: (payment) => void reported.push(payment) });
    const response = await fetch(...call("vram_estimate", PARAMS));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      ok: true,
      receipt: { paid_by: method, debited_usdc_microusd: 1000 },
    });
    const payment = paymentOf(response);
    expect(payment).toMatchObject({ tool: "vram_estimate", amount: PRICE, method });
    const [bill] = await receipts();
    expect(payment?.receipt).toMatchObject({ tx_signature: bill?.tx_signature });
    expect(reported).toEqual([payment]);
    expect(await listPayments(store)).toEqual([]);
  });

  it("buys a call for a wallet without an API key, and the same answer with the stored payment", async () => {
    const url = `${world.gateway.baseUrl}/x402/vram_estimate`;
    const init = {
      method: "POST",
      body: JSON.stringify(PARAMS),
      headers: { "Content-Type": "application/json", "Idempotency-Key": "by-wallet" },
    };
    const store = memoryStore();
    const lost: typeof fetch = async (input, options) => {
      const response = await fetch(input, options);
      if (response.ok) throw new Error("connection reset");
      return response;
    };
    const options = { ...gasless(), store };
    await expect(
      payingFetch({ ...options, fetch: lost, settleTimeoutMs: 1_000 })(url, init),
    ).rejects.toMatchObject({ code: "PAYMENT_UNSETTLED" });
    const response = await payingFetch(options)(url, init);
    expect(await response.json()).toMatchObject({
      ok: true,
      receipt: { paid_by: "gasless", debited_usdc_microusd: 1000 },
    });
    await expect(
      payingFetch({ ...options, method: "transfer", rpcUrl: world.chain.url })(url, {
        ...init,
        headers: { "Content-Type": "application/json" },
      }),
    ).rejects.toThrow("a call without an API key is paid gasless");
  });

  it("pays gasless when the gateway pays the fee, and requests what the offer lacks", async () => {
    const asked: string[] = [];
    const withoutHint: typeof fetch = async (input, init) => {
      asked.push(new URL(input instanceof Request ? input.url : input).pathname);
      const response = await fetch(input, init);
      const headers = new Headers(response.headers);
      headers.delete("payment-required");
      return new Response(response.body, { status: response.status, headers });
    };
    const { method: _method, ...options } = gasless();
    const response = await payingFetch({ ...options, fetch: withoutHint })(...call("vram_estimate", PARAMS));
    expect(paymentOf(response)).toMatchObject({ method: "gasless", receipt: { paid_by: "gasless" } });
    expect(asked).toEqual(["/v1/mcp/tools/call", "/v1/payments/transaction", "/v1/mcp/tools/call"]);
  });

  it("passes on free calls, calls paid from the balance, and failures", async () => {
    const fetch = payingFetch(paying());
    const free = await fetch(...call("echo", { message: "hello" }));
    expect(await free.json()).toMatchObject({ result: { echo: "hello" } });
    expect(paymentOf(free)).toBeUndefined();
    expect((await fetch(...call("nothing", {}))).status).toBe(404);
    agent = await world.agent({ balance: 5000n });
    const paid = await fetch(...call("vram_estimate", PARAMS));
    expect(await paid.json()).toMatchObject({ receipt: { paid_by: "balance" } });
    expect(paymentOf(paid)).toBeUndefined();
  });

  it.each(["a Request", "a stream", "bytes"])("repeats a call whose body is in %s", async (shape) => {
    const [url, init] = call("vram_estimate", PARAMS);
    const bytes = new TextEncoder().encode(init.body);
    const fetch = payingFetch(paying());
    const response =
      shape === "a Request"
        ? await fetch(new Request(url, init))
        : shape === "bytes"
          ? await fetch(url, { ...init, body: bytes })
          : await fetch(url, { ...init, body: new Blob([bytes]).stream(), duplex: "half" });
    expect(await response.json()).toMatchObject({ ok: true, receipt: { paid_by: "transfer" } });
  });

  it("pays concurrent calls from one budget and never exceeds it", async () => {
    const store = memoryStore();
    const fetch = payingFetch(paying({ store, budget: "0.003" }));
    const calls = await Promise.allSettled(
      Array.from({ length: 5 }, () => fetch(...call("vram_estimate", PARAMS))),
    );
    const refused = calls.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
    expect(refused).toHaveLength(2);
    for (const error of refused) expect(error).toBeInstanceOf(BudgetExceededError);
    expect(await receipts()).toHaveLength(3);
    // The budget is the store's: another fetch on it has nothing left.
    const another = payingFetch(paying({ store, budget: "0.003" }));
    await expect(another(...call("vram_estimate", PARAMS))).rejects.toThrow(BudgetExceededError);
  });

  it("pays once for concurrent calls with one idempotency key", async () => {
    const fetch = payingFetch(paying());
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const responses = await Promise.all([1, 2, 3].map(() => fetch(...call("vram_estimate", PARAMS, key))));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await receipts()).toHaveLength(1);
    expect(new Set(responses.map((response) => paymentOf(response)?.txSignature))).toHaveProperty("size", 1);
  });

  it("pays nothing above the price limit per call", async () => {
    await expect(payingFetch(paying({ maxPrice: 999n }))(...call("vram_estimate", PARAMS))).rejects.toThrow(
      PriceTooHighError,
    );
    expect(await receipts()).toEqual([]);
  });

  it("reports that nothing was paid, and restores the budget, when the wallet refuses or lacks USDC", async () => {
    const store = memoryStore();
    const refusing = {
      publicKey: agent.wallet.publicKey,
      signTransaction: () => Promise.reject(new Error("no")),
    };
    const empty = keypairSigner(world.chain.controls.createWallet({ microUsd: 0n }));
    for (const signer of [walletSigner(refusing, VersionedTransaction), empty]) {
      const fetch = payingFetch(paying({ store, signer, budget: PRICE }));
      await expect(fetch(...call("vram_estimate", PARAMS))).rejects.toThrow(PaymentNotMadeError);
    }
    expect(await listPayments(store)).toEqual([]);
    const response = await payingFetch(paying({ store, budget: PRICE }))(...call("vram_estimate", PARAMS));
    expect(response.status).toBe(200);
  });
});

describe.each(["binary", "json"] as const)("a ToolgateClient that speaks Connect in %s", (format) => {
  const client = (payment?: PaymentOptions) =>
    new ToolgateClient({
      baseUrl: world.gateway.baseUrl,
      apiKey: agent.apiKey,
      format,
      ...(payment && { payment }),
    });

  it("calls tools, pays for them, and pages through receipts and runs", async () => {
    const buyer = client(gasless(world.chain.controls.createWallet({ microUsd: 3n * PRICE, lamports: 0n })));
    for (const parameters_b of [7, 8, 9]) {
      const { result, receipt } = await buyer.callTool("vram_estimate", { parameters_b });
      expect(result).toHaveProperty("total");
      expect(receipt).toMatchObject({ debitedUsdcMicrousd: PRICE, paidBy: PaidBy.GASLESS });
    }
    const all = await listed(buyer.receipts({ pageSize: 2 }));
    expect(all).toHaveLength(3);
    expect(await buyer.receipt(all[0]?.receiptId ?? "")).toEqual(all[0]);
    const runs = await listed(buyer.runs({ pageSize: 2 }));
    expect(runs).toHaveLength(3);
    expect(await buyer.run(runs[0]?.runId ?? "")).toEqual(runs[0]);
    const { tools } = await buyer.capabilities();
    expect(tools.find(({ name }) => name === "vram_estimate")?.price?.priceUsdcMicrousd).toBe(PRICE);
  });

  it("throws the gateway's errors by their code, and its own refusals to pay", async () => {
    const unpaid = await client()
      .callTool("vram_estimate", PARAMS)
      .catch((error: unknown) => error);
    expect(unpaid).toBeInstanceOf(CallError);
    expect(unpaid).toMatchObject({
      code: "PAYMENT_REQUIRED",
      paymentRequired: { quote: { tool: "vram_estimate" } },
    });
    await expect(client().callTool("nothing", {})).rejects.toMatchObject({
      code: "TOOL_NOT_FOUND",
      requestId: expect.stringMatching(/^req_/),
    });
    const poor = client(paying({ maxPrice: 1n }));
    await expect(poor.callTool("vram_estimate", PARAMS)).rejects.toThrow(PriceTooHighError);
  });
});

describe.each(MODES)("the official MCP client %s with a paying fetch", (_, mode) => {
  async function connect(fetch: typeof globalThis.fetch) {
    const url = new URL(`${world.gateway.baseUrl}/mcp`);
    const requestInit = { headers: { Authorization: `Bearer ${agent.apiKey}` } };
    const me = { name: "test", version: "1.0.0" };
    if (mode === "first line") {
      const client = new FirstClient(me);
      await client.connect(new FirstTransport(url, { fetch, requestInit }));
      return client;
    }
    const client = new Client(me, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url, { fetch, requestInit }));
    return client;
  }

  it("buys single and concurrent calls, each with one payment", async () => {
    const reported: Payment[] = [];
    const wallet = world.chain.controls.createWallet({ microUsd: 4n * PRICE, lamports: 0n });
    const client = await connect(
      payingFetch({ ...gasless(wallet), onPayment: (payment) => void reported.push(payment) }),
    );
    const buy = (parameters_b: number) =>
      client.callTool({ name: "vram_estimate", arguments: { parameters_b } });
    expect(await buy(1)).toMatchObject({ _meta: { "toolgate/receipt": { paid_by: "gasless" } } });
    const results = await Promise.all([2, 3, 4].map(buy));
    for (const result of results)
      expect(result).toMatchObject({ structuredContent: { total: expect.anything() } });
    expect(await receipts()).toHaveLength(4);
    expect(reported).toHaveLength(4);
    for (const { receipt } of reported) expect(receipt).toMatchObject({ paid_by: "gasless" });
    await client.close();
  });
});
