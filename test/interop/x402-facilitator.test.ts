import { Connection, type Keypair } from "@solana/web3.js";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { paymentMiddlewareFromConfig } from "@x402/express";
import { ExactSvmScheme } from "@x402/svm/exact/server";
import express from "express";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeServer, listen } from "../support/servers.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent, type Answer } from "../support/world.ts";
import { SLOT_MS, x402Payer, type X402Payer } from "./x402-payer.ts";

/** The gateway as an x402 facilitator of `@x402/express`, unmodified. */

const NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const PRICE = 10_000n;

const world = useWorld({ FACILITATOR: "on" }, SLOT_MS);
let operator: Agent;
let seller: Keypair;
let payer: X402Payer;
let sold: string;
let calls = 0;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  operator = await world.agent({ operator: true });
  seller = world.chain.controls.createWallet({ microUsd: 0n, lamports: 0n });
  payer = await x402Payer(world);
  sold = await startShop(world.gateway.baseUrl, operator.apiKey);
});
afterAll(async () => {
  expect(await payer.lamports()).toBe(0);
  await Promise.all(closing.map((close) => close()));
});

/** A service of the operator that sells one path and leaves payments to the gateway. */
async function startShop(url: string, apiKey: string): Promise<string> {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers });
  const accepts = {
    scheme: "exact",
    network: NETWORK,
    payTo: seller.publicKey.toBase58(),
    price: "$0.01",
  } as const;
  const app = express();
  const facilitator = new HTTPFacilitatorClient({ url, createAuthHeaders });
  app.use(
    paymentMiddlewareFromConfig({ "POST /sold": { accepts, description: "a service" } }, facilitator, [
      { network: NETWORK, server: new ExactSvmScheme() },
    ]),
  );
  app.post("/sold", (_request, response) => {
    calls += 1;
    response.json({ ok: true });
  });
  const server = createServer(app);
  closing.push(() => closeServer(server));
  return `http://127.0.0.1:${await listen(server)}/sold`;
}

const usdcOf = async (wallet: Keypair) => {
  const account = world.chain.controls.usdcAccount(wallet.publicKey);
  const { value } = await new Connection(world.chain.url).getTokenAccountBalance(account, "processed");
  return BigInt(value.amount);
};

/** A payment of the shop that was not sent, as its facilitator gets it. */
async function payment(url = sold) {
  const { headers } = await fetch(url, { method: "POST" });
  const signature = await payer.sign(headers.get("payment-required") ?? "");
  const paymentPayload = JSON.parse(Buffer.from(signature, "base64").toString());
  return {
    signature,
    body: { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted },
  };
}

type Body = Awaited<ReturnType<typeof payment>>["body"];

function ask(
  operation: string,
  body: object,
  by: Agent | undefined = operator,
  gateway = world.gateway,
): Promise<Answer> {
  return request(gateway, by, `/${operation}`, { method: "POST", body: JSON.stringify(body) });
}

describe("a service of @x402/express", () => {
  it("is paid through the gateway, once for each payment, and the ledger has no part in it", async () => {
    const [before, sellers] = [await payer.usdc(), await usdcOf(seller)];
    const response = await payer.fetch(sold, { method: "POST" });
    expect(response.status, await response.clone().text()).toBe(200);
    expect(before - (await payer.usdc())).toBe(PRICE);
    expect((await usdcOf(seller)) - sellers).toBe(PRICE);
    const { paymentSignature = "" } = payer.exchanges.at(-1)?.proofs ?? {};
    const sales = calls;
    const again = await fetch(sold, { method: "POST", headers: { "PAYMENT-SIGNATURE": paymentSignature } });
    expect(again.status).toBe(402);
    expect(calls).toBe(sales);
    expect(await usdcOf(world.treasury)).toBe(0n);
    expect(before - (await payer.usdc())).toBe(PRICE);
  });

  it("settles a payment once when it comes to three instances at once", async () => {
    const others = [
      await world.startAnother({ FACILITATOR: "on" }),
      await world.startAnother({ FACILITATOR: "on" }),
    ];
    const { body } = await payment();
    const before = await payer.usdc();
    expect((await ask("verify", body)).body).toEqual({
      isValid: true,
      payer: payer.wallet.publicKey.toBase58(),
    });
    const gateways = [world.gateway, ...others, world.gateway];
    const answers = await Promise.all(gateways.map((gateway) => ask("settle", body, operator, gateway)));
    const settled = answers.filter(({ body: { success } }) => success);
    expect(settled.map(({ body }) => body)).toEqual([
      {
        success: true,
        transaction: expect.any(String),
        network: NETWORK,
        payer: payer.wallet.publicKey.toBase58(),
      },
    ]);
    for (const operation of ["verify", "settle"])
      expect((await ask(operation, body)).body).toMatchObject({
        [operation === "verify" ? "invalidReason" : "errorReason"]: "invalid_payment",
      });
    expect(before - (await payer.usdc())).toBe(PRICE);
  });

  it("cannot have its payments buy calls here", async () => {
    const { signature, body } = await payment();
    const atTool = await fetch(`${world.gateway.baseUrl}/x402/vram_estimate`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "PAYMENT-SIGNATURE": signature },
      body: JSON.stringify({ parameters_b: 7 }),
    });
    expect(atTool.status).toBe(402);
    expect((await ask("settle", body)).body).toMatchObject({ success: true });
    const { transaction } = body.paymentPayload.payload;
    for (const proof of [
      { transaction, quote_id: "x402_1" },
      { x402Version: 1, scheme: "exact", network: "solana", payload: { transaction } },
    ]) {
      const header = Buffer.from(JSON.stringify(proof)).toString("base64url");
      const { status, body: refused } = await world.call(
        operator,
        "vram_estimate",
        { parameters_b: 7 },
        {
          headers: { "X-Payment": header },
        },
      );
      expect([status, refused.code]).not.toContain(200);
      expect(refused.code).toBe("INVALID_PAYMENT");
    }
  });
});

describe("a facilitator's payment", () => {
  type Change = (body: Body) => void;
  it.each<[string, Change, RegExp]>([
    [
      "another amount",
      ({ paymentRequirements: r, paymentPayload: p }) => (r.amount = p.accepted.amount = "9999"),
      /transfer_amount/,
    ],
    [
      "another wallet",
      ({ paymentRequirements: r, paymentPayload: p }) =>
        (r.payTo = p.accepted.payTo = payer.wallet.publicKey.toBase58()),
      /transfer_destination/,
    ],
    [
      "the treasury",
      ({ paymentRequirements: r, paymentPayload: p }) =>
        (r.payTo = p.accepted.payTo = world.treasury.publicKey.toBase58()),
      /is the treasury/,
    ],
    [
      "the fee payer",
      ({ paymentRequirements: r, paymentPayload: p }) => (r.payTo = p.accepted.payTo = r.extra.feePayer),
      /other than the fee payer's/,
    ],
    [
      "no wallet",
      ({ paymentRequirements: r, paymentPayload: p }) => (r.payTo = p.accepted.payTo = "?"),
      /must be a wallet/,
    ],
    [
      "another memo",
      ({ paymentRequirements: r, paymentPayload: p }) => (r.extra.memo = p.accepted.extra.memo = "another"),
      /memo_quote/,
    ],
    ["another network", ({ paymentRequirements: r }) => (r.network = "solana:devnet"), /network must be/],
    [
      "another asset",
      ({ paymentRequirements: r }) => (r.asset = seller.publicKey.toBase58()),
      /asset must be/,
    ],
    [
      "another fee payer",
      ({ paymentRequirements: r }) => (r.extra.feePayer = seller.publicKey.toBase58()),
      /feePayer must be/,
    ],
    [
      "other terms than accepted",
      ({ paymentPayload: p }) => (p.accepted.amount = "1"),
      /accepted\.amount is not/,
    ],
    [
      "no transaction",
      ({ paymentPayload: p }) => delete p.payload.transaction,
      /payload\.transaction is missing/,
    ],
  ])("is refused for %s, and nothing is sent", async (_what, change, message) => {
    const { body } = await payment();
    const copy: Body = structuredClone({ ...body, paymentRequirements: { ...body.paymentRequirements } });
    change(copy);
    const before = await payer.usdc();
    expect((await ask("verify", copy)).body).toMatchObject({
      isValid: false,
      invalidMessage: expect.stringMatching(message),
    });
    expect((await ask("settle", copy)).body).toMatchObject({
      success: false,
      errorMessage: expect.stringMatching(message),
    });
    expect(await payer.usdc()).toBe(before);
  });

  it("is refused by a verification that simulates it, without the funds", async () => {
    const poor = await x402Payer(world, 2, PRICE - 1n);
    const { headers } = await fetch(sold, { method: "POST" });
    const signature = await poor.sign(headers.get("payment-required") ?? "");
    const paymentPayload = JSON.parse(Buffer.from(signature, "base64").toString());
    const body = { paymentPayload, paymentRequirements: paymentPayload.accepted };
    expect((await ask("verify", body)).body).toMatchObject({
      isValid: false,
      invalidMessage: expect.stringMatching(/simulation_failed/),
    });
  });

  it("counts in the relay's limit of the account", async () => {
    const limited = await world.startAnother({ FACILITATOR: "on", GASLESS_PER_ACCOUNT_HOURLY: "1" });
    const other = await world.agent({ operator: true });
    const settle = async () => (await ask("settle", (await payment()).body, other, limited)).body;
    expect(await settle()).toMatchObject({ success: true });
    expect(await settle()).toMatchObject({ success: false, errorReason: "rate_limited" });
  });

  it("needs the operator role, and the setting", async () => {
    const off = await world.startAnother({ FACILITATOR: "off" });
    for (const operation of ["verify", "settle"]) {
      expect((await ask(operation, {}, await world.agent())).body.code).toBe("FORBIDDEN");
      expect(
        (await request(world.gateway, undefined, `/${operation}`, { method: "POST", body: "{}" })).body.code,
      ).toBe("UNAUTHORIZED");
      expect((await ask(operation, {}, operator, off)).body.code).toBe("NOT_FOUND");
    }
    expect((await world.get(operator, "/supported")).body.kinds).toHaveLength(1);
  });
});
