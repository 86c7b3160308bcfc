import { decodePaymentRequiredHeader } from "@x402/core/http";
import { beforeAll, describe, expect, it } from "vitest";
import { SLOT_MS, x402Payer, type Payload, type X402Payer } from "../interop/x402-payer.ts";
import { query } from "../support/database-server.ts";
import { request, type Answer } from "../support/world.ts";
import { PARAMS, PRICE, useScene, TOOL } from "./scene.ts";

/** Calls without an API key: a wallet pays, and strangers try to use its payment. */

const PATH = `/x402/${TOOL}`;
const OTHER_PARAMS = { model: "llama-3.1-70b" };

const world = useScene({ GASLESS_FAILURES_HOURLY: "1000", WATCH_INTERVAL_MS: "200" }, SLOT_MS);
let payer: X402Payer;

beforeAll(async () => {
  payer = await x402Payer(world);
});

const ask = (paymentSignature?: string, params: object = PARAMS, path = PATH, gateway = world.gateway) =>
  request(
    gateway,
    undefined,
    path,
    { method: "POST", body: JSON.stringify(params) },
    paymentSignature === undefined ? {} : { "PAYMENT-SIGNATURE": paymentSignature },
  );

const offered = async (params: object = PARAMS) =>
  (await ask(undefined, params)).headers.get("payment-required") ?? "";

const rows = async (statement: string) => (await query(world.database.url, statement)).rows;

const accountsOf = (wallet: string) => rows(`select id, available from account where wallet = '${wallet}'`);

const receiptsOf = async (wallet: string) =>
  (await rows(`select from receipt join account on account.id = account_id where wallet = '${wallet}'`))
    .length;

const relays = async () => (await rows("select from relay")).length;

const changed = (paymentSignature: string, change: (payload: Payload) => void): string => {
  const payload: Payload = JSON.parse(Buffer.from(paymentSignature, "base64").toString());
  change(payload);
  return Buffer.from(JSON.stringify(payload)).toString("base64");
};

function expectRefused({ status, headers, body }: Answer, code: string, message: RegExp): void {
  expect({ code: body.code, message: body.message }).toEqual({
    code,
    message: expect.stringMatching(message),
  });
  expect([400, 401, 402, 403, 404]).toContain(status);
  expect(headers.get("payment-required")).toBeNull();
}

describe("a call without an API key", () => {
  it("is offered to any wallet, and its offer stores nothing", async () => {
    const wallet = payer.wallet.publicKey.toBase58();
    const { status, headers, body } = await ask();
    expect({ status, code: body.code }).toEqual({ status: 402, code: "PAYMENT_REQUIRED" });
    expect(body.payment_instructions).toMatchObject({
      payment_methods: ["gasless"],
      methods: ["x402_header"],
    });
    const offer = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
    expect(offer).toMatchObject({
      resource: { url: world.gateway.baseUrl + PATH },
      accepts: [{ amount: String(PRICE), extra: { offerToken: expect.stringMatching(/^[0-9a-f]{32}$/) } }],
    });
    expect([await relays(), await accountsOf(wallet)]).toEqual([0, []]);
  });

  it("is bought by the official client with a wallet and no SOL, for the wallet's account", async () => {
    const response = await payer.fetch(world.gateway.baseUrl + PATH, {
      method: "POST",
      body: JSON.stringify(PARAMS),
      headers: { "Content-Type": "application/json" },
    });
    const bought = JSON.parse(await response.text());
    expect(response.status, JSON.stringify(bought)).toBe(200);
    expect(bought).toMatchObject({
      ok: true,
      result: { total: expect.anything() },
      receipt: { paid_by: "gasless", debited_usdc_microusd: Number(PRICE) },
    });
    expect([await payer.usdc(), await payer.lamports()]).toEqual([1_000_000n - PRICE, 0]);
    const wallet = payer.wallet.publicKey.toBase58();
    const [account] = await accountsOf(wallet);
    const { accountId } = await world.postgres.accounts.create(wallet);
    expect(accountId).toBe(`acct_${account?.id.replaceAll("-", "")}`);
    const { paymentSignature } = payer.exchanges.at(-1)?.proofs ?? {};
    const again = await ask(paymentSignature);
    expect(again.body).toEqual(bought);
    expect(await receiptsOf(wallet)).toBe(1);
  });

  it("is refused for free tools, unknown tools, other proofs and large parameters", async () => {
    expectRefused(await ask(undefined, { message: "hi" }, "/x402/echo"), "UNAUTHORIZED", /^echo is free/);
    expectRefused(await ask(undefined, {}, "/x402/nothing"), "TOOL_NOT_FOUND", /there are .*vram_estimate/);
    const init = { method: "POST", body: JSON.stringify(PARAMS) };
    const other = await request(world.gateway, undefined, PATH, init, { "X-Payment": "e30=" });
    expectRefused(other, "INVALID_PAYMENT", /^X-Payment: pays calls with an API key/);
    const large = await ask(undefined, { model: "x".repeat(70_000) });
    expect(large).toMatchObject({ status: 413, body: { code: "PAYLOAD_TOO_LARGE" } });
    expect((await ask(undefined, { model: 7 })).body.message).toMatch(/^params\.model/);
    const specified = await request(world.gateway, undefined, "/v1/mcp/tools/call", {
      method: "POST",
      body: JSON.stringify({ tool: TOOL, params: PARAMS }),
    });
    expect(specified.status).toBe(401);
  });
});

describe("a question for terms without parameters", () => {
  const probe = (init: RequestInit, path = PATH) => fetch(world.gateway.baseUrl + path, init);
  const post = (body: string | null, type: string | undefined = "application/json", path = PATH) =>
    probe({ method: "POST", body, headers: type === undefined ? {} : { "Content-Type": type } }, path);

  it.each<[string, () => Promise<Response>]>([
    ["no body", () => post(null)],
    ["no content type", () => probe({ method: "POST" })],
    ["an empty text", () => post("")],
    ["an empty object", () => post("{}")],
    ["a list", () => post("[]")],
    ["null", () => post("null")],
    ["no JSON", () => post("model=llama")],
    ["a form", () => post("model=llama", "application/x-www-form-urlencoded")],
    [
      "a compressed body",
      () => probe({ method: "POST", body: "x", headers: { "Content-Encoding": "gzip" } }),
    ],
    ["another type", () => post('{"model":7}')],
    ["an unknown parameter", () => post('{"modell":"llama-3.1-8b"}')],
    ["a lone surrogate", () => post('{"model":"\\ud800"}')],
    ["a query", () => post("{}", "application/json", `${PATH}?x=1`)],
    ["GET", () => probe({})],
    ["GET with a query", () => probe({}, `${PATH}?utm_source=a`)],
    ["HEAD", () => probe({ method: "HEAD" })],
  ])("is answered for %s with the terms of the published example", async (_, ask402) => {
    const answer = await ask402();
    const text = await answer.text();
    expect(answer.status, text).toBe(402);
    if (text !== "")
      expect(JSON.parse(text)).toMatchObject({ code: "PAYMENT_REQUIRED", quote: { tool: TOOL } });
    const offer = decodePaymentRequiredHeader(answer.headers.get("payment-required") ?? "");
    const { items } = JSON.parse(await (await probe({}, "/.well-known/x402")).text());
    const published = items.find(({ resource }: { resource: string }) => resource.endsWith(PATH));
    expect(offer).toMatchObject({ resource: { url: published.resource }, accepts: published.accepts });
    expect(offer.error).toMatch(/These are the terms of the example/);
    expect(offer.extensions).toHaveProperty("bazaar.info.input.body", PARAMS);
  });

  it("is refused over Connect, as over gRPC: no index asks there", async () => {
    const body = JSON.stringify({ tool: TOOL, params: {} });
    const answer = await post(body, "application/json", "/toolgate.v1.WalletService/BuyTool");
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: "invalid_argument" }]);
  });

  it("is no question with a payment: what is invalid is refused, and nothing is sent or charged", async () => {
    const signed = await payer.sign((await probe({})).headers.get("payment-required") ?? "");
    const before = [await relays(), await payer.usdc()];
    const headers = { "PAYMENT-SIGNATURE": signed, "Content-Type": "application/json" };
    for (const body of [undefined, "", "{}", "[]", "null", "x", '{"modell":"llama-3.1-8b"}', '{"model":7}'])
      expect((await probe({ method: "POST", headers, ...(body !== undefined && { body }) })).status).toBe(
        400,
      );
    const form = { ...headers, "Content-Type": "text/plain" };
    expect((await probe({ method: "POST", headers: form, body: "{}" })).status).toBe(415);
    expect((await probe({ headers })).status).toBe(405);
    const other = await ask(signed, OTHER_PARAMS);
    expectRefused(other, "INVALID_PAYMENT", /for another tool or other params/);
    expect([await relays(), await payer.usdc()]).toEqual(before);
    expect((await ask(signed, { ...PARAMS, dtype: null })).status).toBe(200);
  });

  it("tells unknown and free tools apart, by any method", async () => {
    for (const init of [{}, { method: "POST" }]) {
      expect((await probe(init, "/x402/nothing")).status).toBe(404);
      expect((await probe(init, "/x402/echo")).status).toBe(401);
    }
    expect((await probe({ method: "PUT" })).status).toBe(405);
    expect((await post("x".repeat(70_000))).status).toBe(413);
  });
});

describe("a stolen payment", () => {
  it("buys no other tool, no other params, and nothing with an API key", async () => {
    const agent = await world.agent();
    const signed = await payer.sign(await offered());
    expectRefused(await ask(signed, OTHER_PARAMS), "INVALID_PAYMENT", /for another tool or other params/);
    const chat = { model: "holo-8b", messages: [{ role: "user", content: "hi" }] };
    const elsewhere = await ask(signed, chat, "/x402/inference_chat");
    expect([402, 404]).toContain(elsewhere.status);
    const keyed = await world.call(agent, TOOL, PARAMS, { headers: { "PAYMENT-SIGNATURE": signed } });
    expectRefused(keyed, "INVALID_PAYMENT", /issued to another account/);
    const quoted = (await world.call(agent, TOOL, PARAMS)).headers.get("payment-required") ?? "";
    const toKey = await ask(await payer.sign(quoted));
    expectRefused(toKey, "INVALID_PAYMENT", /offerToken is not the one that was offered/);
    const usdc = await payer.usdc();
    expect((await ask(signed)).status).toBe(200);
    expect(await payer.usdc()).toBe(usdc - PRICE);
  });

  it("returns nothing to those who know it from the chain only", async () => {
    const signed = await payer.sign(await offered());
    const without = changed(signed, ({ accepted }) => delete accepted.extra["offerToken"]);
    const guessed = changed(signed, ({ accepted }) => (accepted.extra["offerToken"] = "0".repeat(32)));
    const wrong = /offerToken is not the one that was offered/;
    expectRefused(await ask(without), "INVALID_PAYMENT", wrong);
    const paid = await ask(signed);
    expect(paid.status).toBe(200);
    for (const proof of [without, guessed]) expectRefused(await ask(proof), "INVALID_PAYMENT", wrong);
  });

  it("creates no account and no receipt when its wallet cannot pay", async () => {
    const poor = await x402Payer(world, 2, PRICE - 1n);
    const answer = await ask(await poor.sign(await offered()));
    expectRefused(answer, "INVALID_PAYMENT", /./);
    expect(await accountsOf(poor.wallet.publicKey.toBase58())).toEqual([]);
  });

  it("is refused and not sent for the wallet of a blocked account", async () => {
    const banned = await x402Payer(world);
    const { accountId } = await world.postgres.accounts.create(banned.wallet.publicKey.toBase58());
    await world.postgres.accounts.setBlocked(accountId, { blocked: true, reason: "fraud" });
    const before = await relays();
    expectRefused(await ask(await banned.sign(await offered())), "FORBIDDEN", /is blocked: fraud/);
    expect([await relays(), await banned.usdc()]).toEqual([before, 1_000_000n]);
  });
});

describe("one payment of a wallet without an account", () => {
  it("buys one call when 60 requests race on three instances", async () => {
    const racer = await x402Payer(world);
    const wallet = racer.wallet.publicKey.toBase58();
    const gateways = [world.gateway, await world.startAnother(), await world.startAnother()];
    const signed = await racer.sign(await offered());
    const race = () =>
      Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          ask(signed, PARAMS, PATH, gateways[index % 3] ?? world.gateway),
        ),
      );
    // On a busy machine the chain may not answer in time: nothing was consumed then.
    const allowed = ["200 undefined", "409 REQUEST_IN_PROGRESS", "503 PAYMENT_PENDING", "503 UNAVAILABLE"];
    const first = await race();
    expect(first.filter(({ status, body }) => !allowed.includes(`${status} ${body.code}`))).toEqual([]);
    await expect.poll(async () => (await ask(signed)).status).toBe(200);
    const settled = await race();
    for (const { status, body } of settled)
      expect({ status, body }).toEqual({ status: 200, body: settled[0]?.body });
    expect([await receiptsOf(wallet), await racer.usdc()]).toEqual([1, 1_000_000n - PRICE]);
    expect(await accountsOf(wallet)).toMatchObject([{ available: "0" }]);
  });

  it("is credited to the wallet when its call is not repeated, and then buys it", async () => {
    const absent = await x402Payer(world);
    const wallet = absent.wallet.publicKey.toBase58();
    const impatient = await world.startAnother({ FINALIZED_ABOVE_MICROUSD: "1", PAYMENT_WAIT_MS: "1" });
    const signed = await absent.sign(await offered());
    const pending = await ask(signed, PARAMS, PATH, impatient);
    expect(pending).toMatchObject({ status: 503, body: { code: "PAYMENT_PENDING" } });
    world.chain.chain.advance(64);
    await expect.poll(() => accountsOf(wallet)).toMatchObject([{ available: String(PRICE) }]);
    expect((await ask(signed)).status).toBe(200);
    expect(await accountsOf(wallet)).toMatchObject([{ available: "0" }]);
  });
});

describe("unpaid answers", () => {
  it("are limited per address, and paid ones are not counted", async () => {
    const left = ({ headers }: Answer) => Number(headers.get("x-ratelimit-remaining"));
    const other = await world.startAnother();
    const offer = await ask(undefined, PARAMS, PATH, other);
    const signed = await payer.sign(offer.headers.get("payment-required") ?? "");
    expect((await ask(signed, PARAMS, PATH, other)).status).toBe(200);
    // More when the bucket was refilled meanwhile.
    expect(left(await ask(undefined, PARAMS, PATH, other))).toBeGreaterThanOrEqual(left(offer));
  });

  it("say that the route is off when X402_KEYLESS is off", async () => {
    const off = await world.startAnother({ X402_KEYLESS: "off" });
    expectRefused(await ask(undefined, PARAMS, PATH, off), "NOT_FOUND", /X402_KEYLESS/);
  });
});
