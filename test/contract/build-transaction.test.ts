import { createClient, type Client } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { Keypair, PublicKey } from "@solana/web3.js";
import { beforeAll, describe, expect, it } from "vitest";
import { pastOffer } from "../attacks/scene.ts";
import { PaymentService } from "#gen/toolgate/v1/payment_service_pb.ts";
import { query } from "../support/database-server.ts";
import { gaslessPayment, signBuilt } from "../support/gasless.ts";
import { useWorld } from "../support/use-world.ts";
import type { Agent } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/** POST /v1/payments/transaction: an agent that has USDC, no SOL, and a key that signs. */

const PATH = "/v1/payments/transaction";
const PAID = {
  tool: "vram_estimate",
  params: { model: "llama-3.1-8b", dtype: "float16", context_length: 4096 },
};
const PRICE = 1_000n;

const world = useWorld({ WATCH_INTERVAL_MS: "100" });
let agent: Agent;

beforeAll(async () => {
  agent = await world.agent();
});

/** A wallet with USDC and no SOL at all. */
const poorWallet = () => world.chain.controls.createWallet({ lamports: 0n, microUsd: 10n * PRICE });

async function quoted(params: object = {}, as = agent) {
  const { status, body } = await world.call(as, PAID.tool, { ...PAID.params, ...params });
  expect(status).toBe(402);
  return body.quote.quote_id as string;
}

const build = (quoteId: string, payer: string, as: Agent | undefined = agent) =>
  world.post(as, PATH, { quote_id: quoteId, payer });

type Builder = (quoteId: string, payer: string) => Promise<{ transaction: string; message: string }>;

/** The same request on every transport. */
const TARGETS: readonly [target: string, build: Builder][] = [
  ["HTTP", async (quoteId, payer) => (await build(quoteId, payer)).body],
  [
    "Connect",
    (quoteId, payer) =>
      ask(createConnectTransport({ baseUrl: world.gateway.baseUrl, httpVersion: "1.1" }), quoteId, payer),
  ],
  [
    "gRPC",
    (quoteId, payer) =>
      ask(createGrpcTransport({ baseUrl: `http://${world.gateway.grpcAddress}` }), quoteId, payer),
  ],
];

function ask(transport: ReturnType<typeof createGrpcTransport>, quoteId: string, payer: string) {
  const client: Client<typeof PaymentService> = createClient(PaymentService, transport);
  return client.buildTransaction(
    { quoteId, payer },
    { headers: { authorization: `Bearer ${agent.apiKey}` } },
  );
}

describe("building a transaction: 200", () => {
  it("returns the transaction, the bytes to sign, the fee payer and the expiry", async () => {
    const payer = poorWallet().publicKey.toBase58();
    const { status, body, headers } = await build(await quoted(), payer);
    expect(status).toBe(200);
    expect(body).toEqual({
      transaction: expect.any(String),
      message: expect.any(String),
      fee_payer: world.feePayer.publicKey.toBase58(),
      last_valid_block_height: expect.any(Number),
    });
    const transaction = Buffer.from(body.transaction, "base64");
    expect(transaction.subarray(0, 129)).toEqual(Buffer.concat([Buffer.of(2), Buffer.alloc(128)]));
    expect(transaction.subarray(129)).toEqual(Buffer.from(body.message, "base64"));
    expect(headers.get("x-request-id")).toMatch(/^req_/);
  });

  it.each(TARGETS)(
    "returns a transaction that a bare key signs and that pays the call: %s",
    async (target, ofTarget) => {
      const wallet = poorWallet();
      const params = { context_length: 4096 + TARGETS.findIndex(([name]) => name === target) };
      const quoteId = await quoted(params);
      const transaction = signBuilt(await ofTarget(quoteId, wallet.publicKey.toBase58()), wallet);
      const headers = gaslessPayment(transaction, quoteId);
      const call = () => world.call(agent, PAID.tool, { ...PAID.params, ...params }, { headers });
      const bought = await call();
      expect(bought.body).toMatchObject({ ok: true });
      expect(bought.status).toBe(200);
      const { receipt } = bought.body;
      expect(receipt).toMatchObject({
        paid_by: "gasless",
        quote_id: quoteId,
        debited_usdc_microusd: Number(PRICE),
      });
      const again = await call();
      expect(again.body.receipt.receipt_id).toBe(receipt.receipt_id);
      // The wallet paid only the price, because it has nothing else.
      expect(await microUsdOf(wallet)).toBe(9n * PRICE);
    },
  );

  it("credits a payment as gasless whose call never came back", async () => {
    const wallet = poorWallet();
    const other = await world.agent();
    const quoteId = await quoted({}, other);
    const built = await build(quoteId, wallet.publicKey.toBase58(), other);
    const gone = new AbortController();
    const paying = fetch(`${world.gateway.baseUrl}/v1/mcp/tools/call`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${other.apiKey}`,
        "Content-Type": "application/json",
        ...gaslessPayment(signBuilt(built.body, wallet), quoteId),
      },
      body: JSON.stringify(PAID),
      signal: gone.signal,
    }).catch(() => undefined);
    await expect.poll(() => microUsdOf(wallet), { interval: 5 }).toBe(9n * PRICE);
    gone.abort();
    await paying;
    const payments = () =>
      query(world.database.url, `select paid_by from payment where quote_id = '${quoteId}'`);
    await expect.poll(async () => (await payments()).rows).toEqual([{ paid_by: "gasless" }]);
  });
});

async function microUsdOf(wallet: Keypair): Promise<bigint> {
  const account = world.chain.controls.usdcAccount(wallet.publicKey).toBase58();
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "getTokenAccountBalance",
    params: [account, { commitment: "confirmed" }],
  };
  const response = await fetch(world.chain.url, { method: "POST", body: JSON.stringify(body) });
  const { result } = (await response.json()) as { result: { value: { amount: string } } };
  return BigInt(result.value.amount);
}

describe("building a transaction: 400", () => {
  const wallet = () => Keypair.generate().publicKey.toBase58();

  it("returns 400 for an invalid quote or another account's quote", async () => {
    expectError(await build("qt_made", wallet()), 400, "INVALID_REQUEST", /^quote_id: was not issued here/);
    const other = await world.agent();
    expectError(
      await build(await quoted(), wallet(), other),
      400,
      "INVALID_REQUEST",
      /^quote_id: .* another account/,
    );
    expectError(await world.post(agent, PATH, { payer: wallet() }), 400, "INVALID_REQUEST", /quote_id/);
  });

  it("returns 400 for a payer that is no wallet or belongs to the gateway", async () => {
    const [ofProgram] = PublicKey.findProgramAddressSync([Buffer.from("x")], PublicKey.default);
    const quoteId = await quoted();
    const payers = [
      ["0".repeat(40), /^payer: must be a Solana address/],
      [ofProgram.toBase58(), /^payer: must be a wallet that can sign/],
      [world.feePayer.publicKey.toBase58(), /^payer: must be your own wallet/],
      [world.treasury.publicKey.toBase58(), /^payer: must be your own wallet/],
    ] as const;
    for (const [payer, message] of payers)
      expectError(await build(quoteId, payer), 400, "INVALID_REQUEST", message);
    expectError(await build(quoteId, "short"), 400, "INVALID_REQUEST", /payer/);
  });
});

it("returns 402 for an expired quote", async () => {
  const { quoteId } = pastOffer(world.postgres.sealingKeys, agent, 301);
  expectError(await build(quoteId, Keypair.generate().publicKey.toBase58()), 402, "QUOTE_EXPIRED");
});

describe("building a transaction: 503", () => {
  it("returns 503 while gasless is off, as the 402 says", async () => {
    const off = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
    const post = async (path: string, body: object) => {
      const response = await fetch(off.baseUrl + path, {
        method: "POST",
        headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
    };
    const offer = await post("/v1/mcp/tools/call", PAID);
    expect(offer.body.payment_instructions).toMatchObject({
      gasless_supported: false,
      payment_methods: ["wallet"],
    });
    const payer = Keypair.generate().publicKey.toBase58();
    expectError(
      await post(PATH, { quote_id: offer.body.quote.quote_id, payer }),
      503,
      "UNAVAILABLE",
      /relay is off/,
    );
  });
});
