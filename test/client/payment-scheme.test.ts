import { getAssociatedTokenAddressSync } from "@solana/spl-token";
import { Keypair, PublicKey } from "@solana/web3.js";
import { Challenge } from "mppx";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  BudgetExceededError,
  keypairSigner,
  listPayments,
  memoryStore,
  payingFetch,
  paymentOf,
  PriceTooHighError,
  resumePayments,
  type PaymentOptions,
} from "../../src/client/index.ts";
import { startMppServer, type MppServer } from "../interop/mpp-server.ts";
import { useWorld } from "../support/use-world.ts";
import { offer, OWNER, startLiar, MINT, FEE_PAYER, QUOTE_ID, type Liar } from "./hostile-gateway.ts";

/** The paying fetch and the HTTP scheme `Payment`: at the official server, at ours, and at hostile ones. */

const PRICE = 1_000n;
const BODY = "a question";

const world = useWorld();
let sponsored: MppServer;
let plain: MppServer;
let store: ReturnType<typeof memoryStore>;
beforeAll(async () => {
  sponsored = await startMppServer(world, world.chain.controls.createWallet(), PRICE, "order 7");
  plain = await startMppServer(world, undefined, PRICE);
});
afterAll(() => Promise.all([sponsored.close(), plain.close()]));
beforeEach(() => {
  store = memoryStore();
  sponsored.heard.length = 0;
});

function paying(more: Partial<PaymentOptions> = {}): PaymentOptions & { store: typeof store } {
  const lamports = more.rpcUrl === undefined ? 0n : 100_000_000n;
  const wallet = world.chain.controls.createWallet({ lamports, microUsd: 1_000_000n });
  return { signer: keypairSigner(wallet), maxPrice: "0.01", budget: "0.0015", ...more, store };
}

const send = (options: PaymentOptions, url: string, headers: Record<string, string> = {}) =>
  payingFetch(options)(url, { method: "POST", body: BODY, headers });

describe("the official server of the scheme", () => {
  it("sells a call whose fee it pays, with its memo, once", async () => {
    const before = await sponsored.received();
    const options = paying();
    const response = await send(options, sponsored.url);
    expect(await response.json()).toEqual({ sold: BODY });
    expect(paymentOf(response)).toMatchObject({
      amount: PRICE,
      method: "gasless",
      tool: "/sold",
      receipt: { status: "success", method: "solana", externalId: "order 7" },
    });
    expect((await sponsored.received()) - before).toBe(PRICE);
    expect(await listPayments(store)).toEqual([]);
    await expect(send(options, sponsored.url)).rejects.toThrow(BudgetExceededError);
    expect((await sponsored.received()) - before).toBe(PRICE);
  });

  it("sells a call to a wallet that sends its transaction, and two at once", async () => {
    const before = await plain.received();
    const options = paying({ rpcUrl: world.chain.url, budget: "1" });
    const responses = await Promise.all([send(options, plain.url), send(options, plain.url)]);
    for (const response of responses) {
      expect(await response.json()).toEqual({ sold: BODY });
      expect(paymentOf(response)).toMatchObject({ method: "transfer", txSignature: expect.any(String) });
    }
    expect((await plain.received()) - before).toBe(2n * PRICE);
    await expect(send(paying({ budget: "1" }), plain.url)).rejects.toThrow(/give an rpcUrl/);
  });

  it("gets the stored payment after a broken connection, and no second one", async () => {
    const before = await plain.received();
    const options = paying({ rpcUrl: world.chain.url, settleTimeoutMs: 1_000 });
    const lost: typeof fetch = async (input, init) => {
      if (new Headers(init?.headers).has("authorization")) throw new Error("connection reset");
      return fetch(input, init);
    };
    await expect(send({ ...options, fetch: lost }, plain.url)).rejects.toMatchObject({
      code: "PAYMENT_UNSETTLED",
      money: "received",
    });
    const [resumed] = await resumePayments({ ...options, headers: {} });
    expect(await resumed?.response?.json(), String(resumed?.error)).toEqual({ sold: BODY });
    expect(await listPayments(store)).toEqual([]);
    expect((await plain.received()) - before).toBe(PRICE);
  });

  it("fails with a payment that is not covered, which is made once and stays in the store", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const poor = keypairSigner(world.chain.controls.createWallet({ lamports: 0n, microUsd: 1n }));
    const options = paying({ signer: poor, settleTimeoutMs: 1_000 });
    await expect(send(options, sponsored.url)).rejects.toMatchObject({
      code: "PAYMENT_UNSETTLED",
      money: "signed",
    });
    const [, ...credentials] = sponsored.heard;
    expect(new Set(credentials).size).toBe(1);
    expect(await listPayments(store)).toMatchObject([{ state: "signed" }]);
  });
});

describe("a gateway that is asked by Accept-Payment", () => {
  it.each(["/v1/mcp/tools/call", "/mcp"])("sells a call with the key in X-API-Key at %s", async (path) => {
    const agent = await world.agent();
    const sent: Headers[] = [];
    const options = paying({
      fetch: (input, init) => {
        sent.push(new Headers(init?.headers));
        return fetch(input, init);
      },
    });
    const response = await payingFetch(options)(world.gateway.baseUrl + path, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${agent.apiKey}`,
        "Content-Type": "application/json",
        "Accept-Payment": "solana/charge",
      },
      body: JSON.stringify({ tool: "vram_estimate", params: { parameters_b: 7 } }),
    });
    expect(response.status, await response.clone().text()).toBe(200);
    expect(sent[1]?.get("x-api-key")).toBe(agent.apiKey);
    expect(sent[1]?.get("authorization")).toMatch(/^Payment /);
    expect(response.headers.get("payment-receipt")).not.toBeNull();
    expect(paymentOf(response)?.receipt).toMatchObject({ paid_by: "gasless", debited_usdc_microusd: 1000 });
  });

  it("keeps no API key in its store", async () => {
    const agent = await world.agent();
    const written: string[] = [];
    const put: typeof store.put = (key, value, version) => {
      written.push(value);
      return store.put(key, value, version);
    };
    const init = {
      method: "POST",
      headers: { "X-API-Key": agent.apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ tool: "vram_estimate", params: { parameters_b: 7 } }),
    };
    const buy = payingFetch({ ...paying(), store: { ...store, put } });
    expect((await buy(`${world.gateway.baseUrl}/v1/mcp/tools/call`, init)).status).toBe(200);
    expect(written.filter((value) => value.includes('"quoteId"')).length).toBeGreaterThan(0);
    expect(written.join()).not.toContain(agent.apiKey);
  });

  it("sells a call without a key, also resumed", async () => {
    const url = `${world.gateway.baseUrl}/x402/vram_estimate`;
    const init = {
      method: "POST",
      headers: { "Content-Type": "application/json", "Accept-Payment": "solana/*" },
      body: JSON.stringify({ parameters_b: 7 }),
    };
    const options = paying();
    const lost: typeof fetch = async (input, more) => {
      const response = await fetch(input, more);
      if (response.ok) throw new Error("connection reset");
      return response;
    };
    await expect(
      payingFetch({ ...options, fetch: lost, settleTimeoutMs: 1_000 })(url, init),
    ).rejects.toMatchObject({ code: "PAYMENT_UNSETTLED" });
    const [resumed] = await resumePayments({ ...options, headers: {} });
    expect(resumed?.response?.status, String(resumed?.error)).toBe(200);
    expect(resumed?.payment).toMatchObject({ amount: PRICE, method: "gasless" });
    expect(await listPayments(store)).toEqual([]);
  });
});

describe("a hostile challenge", () => {
  let server: Liar;
  const signed: Uint8Array[] = [];
  beforeAll(async () => void (server = await startLiar()));
  afterAll(() => server.close());
  beforeEach(() => void (signed.length = server.heard.length = 0));

  const signer = {
    publicKey: Keypair.generate().publicKey,
    sign(message: Uint8Array) {
      signed.push(message);
      return new Uint8Array(64).fill(7);
    },
  };
  const STRANGER = Keypair.generate().publicKey.toBase58();
  const details = { decimals: 6, feePayer: true, feePayerKey: FEE_PAYER, recentBlockhash: STRANGER };
  const request = { amount: "1000", currency: MINT, recipient: OWNER, externalId: `svc:${QUOTE_ID}` };

  function header(lie: { request?: object; details?: object; outer?: object }): string {
    return Challenge.serialize({
      id: "1",
      realm: "here",
      method: "solana",
      intent: "charge",
      request: { ...request, methodDetails: { ...details, ...lie.details }, ...lie.request },
      ...lie.outer,
    });
  }

  const buy = (headers = {}, more: Partial<PaymentOptions> = {}) =>
    send(paying({ signer, budget: "1", ...more }), server.url, headers);

  it.each<[string, Parameters<typeof header>[0]]>([
    ["has a price of nothing", { request: { amount: "0" } }],
    ["has a price below nothing", { request: { amount: "-1" } }],
    ["has a price with decimals", { request: { amount: "0.5" } }],
    [
      "names a token account as recipient",
      { request: { recipient: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU1" } },
    ],
    ["has no recipient", { request: { recipient: undefined } }],
    ["has a memo that is no text", { request: { externalId: 7 } }],
    ["has a memo that is too long", { request: { externalId: "x".repeat(567) } }],
    ["is of another network", { details: { network: "devnet" } }],
    ["has other decimals", { details: { decimals: 9 } }],
    ["is of another token program", { details: { tokenProgram: STRANGER } }],
    ["is split", { details: { splits: [{ recipient: STRANGER, amount: "1" }] } }],
    ["is confidential", { details: { confidential: true } }],
    ["names no fee payer", { details: { feePayerKey: undefined } }],
    ["names the payer as fee payer", { details: { feePayerKey: signer.publicKey.toBase58() } }],
    ["names the recipient as fee payer", { details: { feePayerKey: OWNER } }],
    ["is past", { outer: { expires: "2020-01-01T00:00:00.000Z" } }],
  ])("is refused when it %s, and nothing is signed", async (_what, lie) => {
    server.say = () => ({ status: 402, body: {}, headers: { "www-authenticate": header(lie) } });
    await expect(buy()).rejects.toMatchObject({ code: "UNSUPPORTED_OFFER" });
    expect([signed.length, server.heard.length]).toEqual([0, 1]);
  });

  it("is refused when it contradicts the offer of the same answer", async () => {
    const payTo = getAssociatedTokenAddressSync(new PublicKey(MINT), new PublicKey(OWNER)).toBase58();
    const asked = { "Accept-Payment": "solana/charge" };
    for (const lie of [{ amount: "999" }, { recipient: STRANGER }, { externalId: "svc:qt_other" }]) {
      const said = offer(payTo);
      const headers = { ...said.headers, "www-authenticate": header({ request: lie }) };
      server.say = () => ({ ...said, headers });
      await expect(buy(asked), JSON.stringify(lie)).rejects.toMatchObject({ code: "UNSUPPORTED_OFFER" });
    }
    expect(signed).toEqual([]);
  });

  it("is refused above the price limit and for another treasury", async () => {
    server.say = () => ({ status: 402, body: {}, headers: { "www-authenticate": header({}) } });
    await expect(buy({}, { maxPrice: "0.0009" })).rejects.toThrow(PriceTooHighError);
    await expect(buy({}, { treasury: STRANGER })).rejects.toThrow(/expected treasury/);
    expect(signed).toEqual([]);
  });

  it("is paid once, in the server's order, however often it asks", async () => {
    const other =
      'Bearer, Payment id="0", realm="a, b \\"c\\"", method="tempo", intent="charge", request="e30"';
    const twice = `${other}, ${header({ outer: { id: "first" } })}, ${header({ outer: { id: "second" } })}`;
    const body = { type: "https://paymentauth.org/problems/verification-failed", detail: "not enough" };
    server.say = () => ({ status: 402, body, headers: { "www-authenticate": twice } });
    await expect(buy()).rejects.toMatchObject({
      code: "PAYMENT_REFUSED",
      answer: "verification-failed",
      money: "signed",
      message: expect.stringMatching(/^not enough/),
    });
    expect(await listPayments(store)).toMatchObject([{ state: "refused", quoteId: "first" }]);
    expect([signed.length, server.heard.length]).toEqual([1, 2]);
    const [, token = ""] = server.heard[1]?.headers.authorization?.split(" ") ?? [];
    expect(JSON.parse(Buffer.from(token, "base64url").toString())).toMatchObject({
      challenge: { id: "first", realm: "here" },
      payload: { type: "transaction" },
    });
  });

  it("without a scheme that is paid passes through", async () => {
    server.say = () => ({
      status: 402,
      body: {},
      headers: { "www-authenticate": 'Payment id="1", method="tempo"' },
    });
    expect((await buy()).status).toBe(402);
    expect(signed).toEqual([]);
  });
});
