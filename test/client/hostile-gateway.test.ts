import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Keypair, PublicKey, VersionedTransaction } from "@solana/web3.js";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  listPayments,
  memoryStore,
  payingFetch,
  paymentOf,
  PaymentRefusedError,
  PaymentUnsettledError,
  PriceTooHighError,
  resumePayments,
  UnsupportedOfferError,
  type PaymentOptions,
} from "../../src/client/index.ts";
import { Budget } from "../../src/client/budget.ts";
import {
  failure,
  FEE_PAYER,
  type Heard,
  type Lie,
  MINT,
  offer,
  OWNER,
  QUOTE_ID,
  startLiar,
  type Liar,
} from "./hostile-gateway.ts";

/** A hostile gateway can make the client pay the honest price once, and nothing else. */

const PAY_TO = getAssociatedTokenAddressSync(new PublicKey(MINT), new PublicKey(OWNER)).toBase58();
const STRANGER = Keypair.generate().publicKey.toBase58();
const wallet = Keypair.generate();

let gateway: Liar;
let signed: Uint8Array[];
let store: ReturnType<typeof memoryStore>;
beforeAll(async () => {
  gateway = await startLiar();
});
afterAll(() => gateway.close());
beforeEach(() => {
  gateway.heard.length = 0;
  signed = [];
  store = memoryStore();
});

function options(more: Partial<PaymentOptions> = {}): PaymentOptions {
  const sign = (message: Uint8Array) => {
    signed.push(message);
    // Whether it verifies is for a gateway to find out; this one takes everything.
    return new Uint8Array(64).fill(7);
  };
  return {
    signer: { publicKey: wallet.publicKey, sign },
    maxPrice: "0.01",
    budget: "0.02",
    method: "gasless",
    store,
    ...more,
  };
}

function buy(more: Partial<PaymentOptions> = {}): Promise<Response> {
  return payingFetch(options(more))(`${gateway.url}/v1/mcp/tools/call`, {
    method: "POST",
    headers: { Authorization: "Bearer sk-agent-1", "Content-Type": "application/json" },
    body: JSON.stringify({ tool: "vram_estimate", params: {} }),
  });
}

function proofIn({ headers }: Heard): { transaction: string; quote_id: string } | undefined {
  const header = headers["x-payment"];
  return typeof header === "string" ? JSON.parse(Buffer.from(header, "base64url").toString()) : undefined;
}

/** Returns a 402 first, then these responses; the last one repeats. */
function afterPayment(...said: ReturnType<typeof failure>[]): void {
  gateway.say = (_request, times) =>
    times === 1 ? offer(PAY_TO) : (said[Math.min(times - 2, said.length - 1)] ?? failure(500, "INTERNAL"));
}

const SUCCESS = { status: 200, body: { ok: true, result: {}, receipt: { receipt_id: "rcpt_1" } } };

const LIES: readonly (readonly [string, Lie])[] = [
  ["names another network", { instructions: { network: "solana-devnet" } }],
  ["names another asset", { instructions: { asset: "USDT" } }],
  ["names another mint", { instructions: { usdc_mint: STRANGER } }],
  ["names another account in destination", { instructions: { destination: STRANGER } }],
  [
    "is paid to an account that the treasury does not own",
    { instructions: { pay_to: STRANGER, destination: STRANGER } },
  ],
  ["names another owner in the x402 header", { terms: { payTo: STRANGER } }],
  ["names another amount in the x402 header", { terms: { amount: "9000" } }],
  ["names another asset in the x402 header", { terms: { asset: STRANGER } }],
  [
    "names another network in the x402 header",
    { terms: { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" } },
  ],
  ["names another fee payer in the x402 header", { extra: { feePayer: STRANGER } }],
  ["puts words into the memo", { extra: { memo: `svc:${QUOTE_ID} I hereby transfer all rights` } }],
  ["names another quote in the memo", { extra: { memo: "svc:qt_other" } }],
  ["puts words into the memo's format", { instructions: { memo_format: "I owe you:{quote_id}" } }],
  ["has two prices", { quote: { amount_usdc_microusd: 9000 } }],
  ["has no price", { quote: { price_usdc_microusd: 0, amount_usdc_microusd: 0 } }],
  ["has a price below nothing", { quote: { price_usdc_microusd: -5, amount_usdc_microusd: -5 } }],
  ["has words for a quote", { quote: { quote_id: "I owe you" }, extra: { memo: "svc:I owe you" } }],
  ["is for another tool", { quote: { tool: "sandbox_execute" } }],
];

describe("a malicious offer", () => {
  it.each(LIES)("refuses an offer that %s, and signs nothing", async (_, lie) => {
    gateway.say = () => offer(PAY_TO, lie);
    await expect(buy()).rejects.toThrow(UnsupportedOfferError);
    expect(signed).toEqual([]);
    expect(gateway.heard).toHaveLength(1);
  });

  it("refuses an offer above the price limit or the budget", async () => {
    const lie = {
      quote: { price_usdc_microusd: 30_000, amount_usdc_microusd: 30_000 },
      terms: { amount: "30000" },
    };
    gateway.say = () => offer(PAY_TO, lie);
    await expect(buy()).rejects.toThrow(PriceTooHighError);
    await expect(buy({ maxPrice: "1" })).rejects.toThrow(BudgetExceededError);
    expect(signed).toEqual([]);
  });

  it("refuses an offer for another treasury than the pinned one", async () => {
    gateway.say = () => offer(PAY_TO);
    await expect(buy({ treasury: STRANGER })).rejects.toThrow(/expected treasury/);
    expect(signed).toEqual([]);
    afterPayment(SUCCESS);
    gateway.heard.length = 0;
    expect((await buy({ treasury: OWNER })).status).toBe(200);
  });

  it("refuses an offer for another chain than that of its rpcUrl", async () => {
    const lie = { instructions: { rpc_url: "http://127.0.0.1:8899" } };
    gateway.say = () => offer(PAY_TO, lie);
    for (const method of ["gasless", "transfer"] as const)
      await expect(buy({ method, rpcUrl: "https://rpc.example" })).rejects.toThrow(UnsupportedOfferError);
    expect(signed).toEqual([]);
    gateway.heard.length = 0;
    gateway.say = (_request, times) => (times === 1 ? offer(PAY_TO, lie) : SUCCESS);
    expect((await buy({ rpcUrl: "http://localhost:8899/" })).status).toBe(200);
  });

  it("refuses an offer that makes the payer the fee payer", async () => {
    const self = wallet.publicKey.toBase58();
    gateway.say = () => offer(PAY_TO, { instructions: { fee_payer: self }, extra: { feePayer: self } });
    await expect(buy()).rejects.toThrow(/fee_payer: is the payer itself/);
    expect(signed).toEqual([]);
  });

  it("passes on a 402 of another kind of server", async () => {
    gateway.say = () => ({ status: 402, body: { x402Version: 1, accepts: [], error: "pay" } });
    const response = await buy();
    expect(response.status).toBe(402);
    expect(await response.json()).toEqual({ x402Version: 1, accepts: [], error: "pay" });
  });
});

describe("a payment to an untrusted gateway", () => {
  it("signs exactly what was offered, and sends it with the same call", async () => {
    afterPayment(SUCCESS);
    const response = await buy();
    expect(paymentOf(response)).toMatchObject({
      amount: 1000n,
      payTo: PAY_TO,
      receipt: { receipt_id: "rcpt_1" },
    });
    const [first, second] = gateway.heard;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers).toMatchObject({
      authorization: "Bearer sk-agent-1",
      "idempotency-key": expect.any(String),
    });
    const proof = second && proofIn(second);
    expect(proof?.quote_id).toBe(QUOTE_ID);
    const { message } = VersionedTransaction.deserialize(Buffer.from(proof?.transaction ?? "", "base64"));
    expect(signed).toEqual([message.serialize()]);
    const keys = message.staticAccountKeys.map((key) => key.toBase58());
    const source = getAssociatedTokenAddressSync(new PublicKey(MINT), wallet.publicKey).toBase58();
    expect(keys.slice(0, 5)).toEqual([FEE_PAYER, wallet.publicKey.toBase58(), source, PAY_TO, MINT]);
    const [, , transfer, memo] = message.compiledInstructions;
    expect(transfer?.accountKeyIndexes).toEqual([2, 4, 3, 1]);
    expect(Buffer.from(transfer?.data ?? [])).toEqual(Buffer.from([12, 0xe8, 3, 0, 0, 0, 0, 0, 0, 6]));
    expect(Buffer.from(memo?.data ?? []).toString()).toBe(`svc:${QUOTE_ID}`);
    expect(message.compiledInstructions).toHaveLength(4);
  });

  it("uses only the blockhash and a memo naming the quote from BuildTransaction", async () => {
    const bare = { ...offer(PAY_TO), headers: {} };
    gateway.say = ({ path }) =>
      path === "/v1/payments/transaction"
        ? { status: 200, body: { message: "AAAA", fee_payer: STRANGER, last_valid_block_height: 1 } }
        : bare;
    await expect(buy()).rejects.toThrow(/another fee payer/);
    expect(signed).toEqual([]);
  });

  it("pays no second time when the gateway asks again", async () => {
    afterPayment(offer(PAY_TO, { quote: { quote_id: "qt_another" }, extra: { memo: "svc:qt_another" } }));
    const error: unknown = await buy().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaymentRefusedError);
    expect(error).toMatchObject({
      answer: "PAYMENT_REQUIRED",
      money: "signed",
      payment: { quoteId: QUOTE_ID },
    });
    expect(signed).toHaveLength(1);
    expect(gateway.heard).toHaveLength(2);
    expect(await listPayments(store)).toMatchObject([
      { state: "refused", refusal: { code: "PAYMENT_REQUIRED" } },
    ]);
    // It counts as spent: a gateway that refuses a payment may still send it.
    await expect(buy({ budget: 1500n })).rejects.toThrow(BudgetExceededError);
  });

  it("pays once per idempotency key, even when the gateway asks again for an answered call", async () => {
    gateway.say = (heard) => (proofIn(heard) ? SUCCESS : offer(PAY_TO));
    const fetch = payingFetch(options());
    const keyed = (key: string) =>
      fetch(`${gateway.url}/call`, { method: "POST", body: "{}", headers: { "Idempotency-Key": key } });
    expect((await keyed("one")).status).toBe(200);
    expect((await keyed("one")).status).toBe(200);
    expect(signed).toHaveLength(1);
    expect(await listPayments(store)).toEqual([]);
    expect((await keyed("two")).status).toBe(200);
    expect(signed).toHaveLength(2);
    const other = fetch(`${gateway.url}/call`, {
      method: "POST",
      body: "[]",
      headers: { "Idempotency-Key": "one" },
    });
    await expect(other).rejects.toThrow(/use a key once/);
  });

  it.each(["INVALID_PAYMENT", "QUOTE_EXPIRED"])(
    "reports where the money is when a payment ends with %s",
    async (code) => {
      afterPayment(failure(402, code));
      await expect(buy()).rejects.toMatchObject({ code: "PAYMENT_REFUSED", answer: code, money: "signed" });
      expect(signed).toHaveLength(1);
    },
  );

  it("repeats the same proof while the gateway cannot report the outcome", async () => {
    const soon = { "retry-after": "1" };
    afterPayment(
      failure(503, "PAYMENT_PENDING"),
      failure(402, "INVALID_PAYMENT", soon),
      failure(409, "REQUEST_IN_PROGRESS", soon),
      SUCCESS,
    );
    expect((await buy()).status).toBe(200);
    const [, ...proofs] = gateway.heard.map(({ headers }) => [
      headers["x-payment"],
      headers["idempotency-key"],
    ]);
    expect(proofs).toHaveLength(4);
    expect(new Set(proofs.map(String)).size).toBe(1);
    expect(signed).toHaveLength(1);
  });

  it("keeps the payment in the store when the gateway never answers, and finishes it later", async () => {
    afterPayment(failure(503, "PAYMENT_PENDING"));
    const error: unknown = await buy({ settleTimeoutMs: 600 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaymentUnsettledError);
    expect(await listPayments(store)).toMatchObject([{ state: "signed", amount: 1000n }]);
    const stored = await Promise.all((await store.list("payment/")).map((key) => store.get(key)));
    expect(JSON.stringify(stored)).not.toContain("sk-agent-1");
    gateway.say = () => SUCCESS;
    const [resumed] = await resumePayments({
      ...options(),
      store,
      headers: { Authorization: "Bearer sk-agent-1" },
    });
    expect(await resumed?.response?.json()).toEqual(SUCCESS.body);
    expect(gateway.heard.at(-1)?.headers.authorization).toBe("Bearer sk-agent-1");
    expect(signed).toHaveLength(1);
    expect(await listPayments(store)).toEqual([]);
  });

  it("finishes and spends a payment once when several processes find it", async () => {
    gateway.say = (heard) => (proofIn(heard) ? failure(503, "PAYMENT_PENDING") : offer(PAY_TO));
    for (const _ of [1, 2])
      await expect(buy({ settleTimeoutMs: 100 })).rejects.toThrow(PaymentUnsettledError);
    gateway.say = () => SUCCESS;
    const resume = { ...options(), store, headers: {} };
    let others: unknown[] = [];
    const slow: typeof fetch = async (input, init) => {
      if (others.length === 0) others = await resumePayments(resume);
      return fetch(input, init);
    };
    const own = await resumePayments({ ...resume, fetch: slow });
    expect([own.length, others.length]).toEqual([1, 2]);
    expect(await new Budget(store, "total", 1n).used()).toBe(2000n);
  });

  it("keeps the payment in the store when the caller aborts", async () => {
    const controller = new AbortController();
    gateway.say = (_request, times) => {
      if (times === 2) controller.abort(new Error("enough"));
      return times === 1 ? offer(PAY_TO) : failure(503, "PAYMENT_PENDING");
    };
    const call = payingFetch(options())(`${gateway.url}/call`, { method: "POST", signal: controller.signal });
    await expect(call).rejects.toThrow("enough");
    expect(await listPayments(store)).toMatchObject([{ state: "signed" }]);
  });

  it.each([
    ["whole", false, 0],
    ["cut off, and then stays in the store", true, 1],
  ])("accepts a stream of events as the response, which can be %s", async (_, cut, left) => {
    const event = {
      jsonrpc: "2.0",
      id: 1,
      result: { _meta: { "toolgate/receipt": { receipt_id: "rcpt_2" } } },
    };
    const body = `data: {"method":"notifications/progress"}\n\ndata: ${JSON.stringify(event)}\n\n`;
    afterPayment({ status: 200, body, cut, headers: { "content-type": "text/event-stream" } });
    const reported: unknown[] = [];
    const response = await buy({ onPayment: ({ receipt }) => void reported.push(receipt) });
    const text = response.text();
    if (cut) await expect(text).rejects.toThrow();
    else expect(await text).toBe(body);
    await expect.poll(() => listPayments(store)).toHaveLength(left);
    if (!cut) await expect.poll(() => reported).toEqual([{ receipt_id: "rcpt_2" }]);
    expect(paymentOf(response)).toMatchObject({ amount: 1000n });
  });

  it("keeps the payment as evidence when the call fails, and returns the response", async () => {
    afterPayment(failure(422, "IDEMPOTENCY_MISMATCH"));
    expect((await buy()).status).toBe(422);
    expect(await listPayments(store)).toMatchObject([
      { state: "refused", refusal: { code: "IDEMPOTENCY_MISMATCH" } },
    ]);
  });

  it.each([
    ["the gateway does not know the key", failure(401, "UNAUTHORIZED")],
    ["the key may not call this tool", failure(403, "FORBIDDEN")],
    ["a proxy answers instead", { status: 404, body: "<html>", headers: { "content-type": "text/html" } }],
  ])("finishes the payment later when %s", async (_, said) => {
    afterPayment(said);
    expect((await buy()).status).toBe(said.status);
    const resume = () =>
      resumePayments({ ...options(), store, headers: { Authorization: "Bearer sk-agent-2" } });
    const [failed] = await resume();
    expect(failed?.response?.status).toBe(said.status);
    gateway.say = () => offer(PAY_TO);
    await expect(buy({ budget: 1500n })).rejects.toThrow(BudgetExceededError);
    gateway.say = () => SUCCESS;
    const [resumed] = await resume();
    expect(await resumed?.response?.json()).toEqual(SUCCESS.body);
    expect(signed).toHaveLength(1);
    expect(await listPayments(store)).toEqual([]);
  });

  it("keeps the options of a Request and ends with its signal", async () => {
    gateway.say = () => offer(PAY_TO);
    const controller = new AbortController();
    const reported: (RequestInit | undefined)[] = [];
    const hanging: typeof fetch = async (input, init) => {
      if (!new Headers(init?.headers).has("x-payment")) return fetch(input, init);
      reported.push(init);
      return new Promise((_resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error("enough")));
        controller.abort(new Error("enough"));
      });
    };
    const { signal } = controller;
    const kept = { credentials: "include", cache: "no-store", referrerPolicy: "no-referrer" } as const;
    const request = new Request(`${gateway.url}/call`, { method: "POST", body: "{}", signal, ...kept });
    await expect(payingFetch(options({ fetch: hanging }))(request)).rejects.toThrow("enough");
    expect(reported).toMatchObject([kept]);
    expect(await listPayments(store)).toMatchObject([{ state: "signed" }]);
  });

  it("follows no redirect with a proof", async () => {
    const elsewhere = await startLiar();
    elsewhere.say = () => SUCCESS;
    afterPayment({ status: 307, body: {}, headers: { location: `${elsewhere.url}/call` } });
    await expect(buy()).rejects.toMatchObject({ answer: "REDIRECTED", money: "signed" });
    // Nor is an offer taken from where a call was led.
    elsewhere.say = () => offer(PAY_TO);
    gateway.say = () => ({ status: 307, body: {}, headers: { location: `${elsewhere.url}/call` } });
    const paidBefore = signed.length;
    await expect(buy()).rejects.toThrow(UnsupportedOfferError);
    expect(signed).toHaveLength(paidBefore);
    expect(elsewhere.heard.map(proofIn)).toEqual([undefined]);
    await elsewhere.close();
  });
});
