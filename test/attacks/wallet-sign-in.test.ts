import { createHmac } from "node:crypto";
import { Keypair } from "@solana/web3.js";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import {
  createSIWxPayload,
  encodeSIWxHeader,
  verifySIWxSignature,
  wrapFetchWithSIWx,
} from "@x402/extensions/sign-in-with-x";
import { beforeAll, describe, expect, it } from "vitest";
import { decodeBase58, encodeBase58 } from "../../src/domain/core/base58.ts";
import { SealedNonces } from "../../src/domain/accounts/sealed-nonce.ts";
import { UNPAID_RATE } from "../../src/transport/wallets/unpaid-answers.ts";
import { systemRandom } from "../../src/system.ts";
import { SLOT_MS, x402Payer } from "../interop/x402-payer.ts";
import { query } from "../support/database-server.ts";
import { walletSigner } from "../support/wallet-signer.ts";
import { request, type Answer } from "../support/world.ts";
import { PARAMS, PRICE, useScene, TOOL } from "./scene.ts";

/** Requests that a wallet signs instead of sending an API key, and strangers who replay or forge them. */

const PATH = `/x402/${TOOL}`;
const MINUTE = 60_000;

const world = useScene({}, SLOT_MS);
let wallet: Keypair;

beforeAll(async () => {
  wallet = await funded();
});

/** A wallet whose account has a balance. */
async function funded(amount = 1_000_000n, tier = { ratePerMinute: 600, burst: 100 }): Promise<Keypair> {
  const keypair = Keypair.generate();
  const { accountId } = await world.postgres.accounts.create(keypair.publicKey.toBase58());
  await world.postgres.accounts.setTier(accountId, tier);
  if (amount > 0n)
    await world.postgres.accounts.adjust({ accountId, amount, reason: "test", idempotencyKey: accountId });
  return keypair;
}

const methodOf = (path: string) => (path.startsWith("/x402") ? "POST" : "GET");

async function send(
  path: string,
  signIn?: string,
  { method = methodOf(path), body = PARAMS, gateway = world.gateway, more = {} } = {},
): Promise<Answer> {
  const sends = { ...(method === "PATCH" && { "Content-Type": "application/json" }), ...more };
  const headers = { ...(signIn !== undefined && { "SIGN-IN-WITH-X": signIn }), ...sends };
  const init = { method, ...(["POST", "PATCH"].includes(method) && { body: JSON.stringify(body) }) };
  return request(gateway, undefined, path, init, headers);
}

type Payload = Awaited<ReturnType<typeof createSIWxPayload>>;
type Info = Parameters<typeof createSIWxPayload>[0];

/** A fresh challenge, as a 402 offers it, with changes before it is signed. */
async function challenge(change: Partial<Info> = {}): Promise<Info> {
  const { headers, body } = await send(PATH);
  expect(body.code, JSON.stringify(body)).toBe("PAYMENT_REQUIRED");
  const { extensions } = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
  const { info, supportedChains } = JSON.parse(JSON.stringify(extensions?.["sign-in-with-x"]));
  return { ...info, ...supportedChains[0], ...change };
}

async function sign(info: Info, signer = wallet, change: Partial<Payload> = {}): Promise<string> {
  const payload = await createSIWxPayload(info, await walletSigner(signer), info.uri);
  expect(await verifySIWxSignature(payload)).toMatchObject({ isValid: true });
  return encodeSIWxHeader({ ...payload, ...change });
}

const urlOf = (path: string) => world.gateway.baseUrl + path;

const signedFor = async (path: string, signer = wallet, requestId = methodOf(path)) =>
  sign(await challenge({ uri: urlOf(path), requestId }), signer);

const balanceOf = async (signer = wallet) => {
  const { accountId } = await world.postgres.accounts.create(signer.publicKey.toBase58());
  return (await world.postgres.accounts.get(accountId)).balance;
};

function expectRefused({ status, body }: Answer, message: RegExp, code = "UNAUTHORIZED"): void {
  expect({ status, code: body.code, message: body.message }).toEqual({
    status: code === "UNAUTHORIZED" ? 401 : 403,
    code,
    message: expect.stringMatching(message),
  });
}

describe("a wallet that signs in", () => {
  it("spends its balance through the official client, whose first request was offered a payment", async () => {
    const before = await balanceOf();
    const response = await wrapFetchWithSIWx(fetch, await walletSigner(wallet))(urlOf(PATH), {
      method: "POST",
      body: JSON.stringify(PARAMS),
      headers: { "Content-Type": "application/json" },
    });
    expect(await response.json()).toMatchObject({
      ok: true,
      receipt: { paid_by: "balance", debited_usdc_microusd: Number(PRICE) },
    });
    expect(await balanceOf()).toBe(before - PRICE);
  });

  it("reads its receipts and runs, more than once with one signature", async () => {
    const { body } = await send(PATH, await signedFor(PATH));
    const header = await signedFor("/receipts");
    const { items } = (await send("/receipts", header)).body;
    expect(items[0]).toEqual(body.receipt);
    const { receipt_id: id, run_id: runId } = body.receipt;
    expect((await send("/receipts?limit=1", header)).body.items).toEqual([body.receipt]);
    const [one, run] = [`/receipts/${id}`, `/runs/${runId}`];
    expect((await send(one, await signedFor(one))).body).toEqual(body.receipt);
    expect((await send("/runs", await signedFor("/runs"))).body.items[0]).toMatchObject({ run_id: runId });
    expect((await send(run, await signedFor(run))).body).toMatchObject({ run_id: runId });
    const other = await funded(0n);
    expect((await send("/receipts", await signedFor("/receipts", other))).body.items).toEqual([]);
    expect((await send(one, await signedFor(one, other))).status).toBe(404);
  });

  it("gets an offer when its balance is too low, and calls free tools", async () => {
    const poor = await funded(PRICE - 1n);
    const offered = await send(PATH, await signedFor(PATH, poor));
    expect(offered.status).toBe(402);
    expect(offered.headers.get("payment-required")).not.toBeNull();
    const echo = await send("/x402/echo", await signedFor("/x402/echo", poor), {
      body: { message: "hi" } as never,
    });
    expect(echo.body).toMatchObject({ ok: true });
    expect(await balanceOf(poor)).toBe(PRICE - 1n);
  });

  it("stores nothing for a wallet without an account", async () => {
    const stranger = Keypair.generate();
    const statement = "select (select count(*) from account) + (select count(*) from used_nonce) as rows";
    const rows = async () => (await query(world.database.url, statement)).rows[0]?.rows;
    const before = await rows();
    expect((await send(PATH, await signedFor(PATH, stranger))).status).toBe(402);
    expectRefused(await send("/receipts", await signedFor("/receipts", stranger)), /no account/, "FORBIDDEN");
    expect(await rows()).toBe(before);
  });

  it("is refused without a sign-in and for a blocked account", async () => {
    expectRefused(await send("/receipts"), /^the Authorization header is missing/);
    expectRefused(await send("/runs"), /^the Authorization header is missing/);
    const banned = await funded();
    const { accountId } = await world.postgres.accounts.create(banned.publicKey.toBase58());
    await world.postgres.accounts.setBlocked(accountId, { blocked: true, reason: "fraud" });
    for (const path of [PATH, "/receipts"])
      expectRefused(await send(path, await signedFor(path, banned)), /blocked: fraud/, "FORBIDDEN");
    expect(await balanceOf(banned)).toBe(1_000_000n);
  });
});

describe("the API keys of a wallet", () => {
  const KEYS = "/v1/keys";
  const create = (signIn?: string, body: object = {}) =>
    send(KEYS, signIn, { method: "POST", body: body as never });
  const listed = async (signer = wallet) => (await send(KEYS, await signedFor(KEYS, signer))).body.keys;
  const callWith = (secret: string) =>
    send("/v1/mcp/tools/call", undefined, {
      method: "POST",
      body: { tool: TOOL, params: PARAMS } as never,
      more: { Authorization: `Bearer ${secret}` },
    });

  it("are created, used, listed, changed and revoked with signed challenges of 401 answers", async () => {
    const offered = async (path: string, method: string) => {
      const { status, headers } = await send(path, undefined, { method, body: {} as never });
      expect(status).toBe(401);
      const { accepts, extensions } = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
      expect(accepts).toEqual([]);
      const { info, supportedChains } = JSON.parse(JSON.stringify(extensions?.["sign-in-with-x"]));
      return sign({ ...info, ...supportedChains[0] });
    };
    const before = await balanceOf();
    const { status, body } = await create(await offered(KEYS, "POST"), { name: "builds" });
    expect({ status, name: body.key?.name }, JSON.stringify(body)).toEqual({ status: 200, name: "builds" });
    expect((await callWith(body.secret)).body).toMatchObject({ ok: true });
    expect(await balanceOf()).toBe(before - PRICE);
    const { keys } = (await send(KEYS, await offered(KEYS, "GET"))).body;
    expect(keys).toEqual([body.key]);
    const path = `${KEYS}/${body.key.key_id}`;
    const change = { name: "nightly", limits: { day_usdc_microusd: Number(PRICE) } };
    const patch = { method: "PATCH", body: change as never };
    expect((await send(path, await offered(path, "PATCH"), patch)).body).toMatchObject({
      name: "nightly",
      limits: change.limits,
      budgets: [{ period: "day", spent_usdc_microusd: Number(PRICE), reached: "limit" }],
    });
    expect((await callWith(body.secret)).body).toMatchObject({
      code: "FORBIDDEN",
      limit: { period: "day", remaining_usdc_microusd: 0 },
    });
    const revoked = await send(path, await offered(path, "DELETE"), { method: "DELETE" });
    expect(revoked.body).toMatchObject({ key_id: body.key.key_id, revoked_at: expect.any(String) });
    await expect.poll(async () => (await callWith(body.secret)).status).toBe(401);
  });

  it("are not created, listed or revoked with an API key", async () => {
    const { secret, key } = (await create(await signedFor(KEYS, wallet, "POST"))).body;
    const count = (await listed()).length;
    const more = { Authorization: `Bearer ${secret}` };
    for (const [method, path] of [
      ["GET", KEYS],
      ["POST", KEYS],
      ["PATCH", `${KEYS}/${key.key_id}`],
      ["DELETE", `${KEYS}/${key.key_id}`],
    ] as const)
      expectRefused(
        await send(path, undefined, { method, body: {} as never, more }),
        /SIGN-IN-WITH-X is missing/,
      );
    expect(await listed()).toHaveLength(count);
    expect((await callWith(secret)).status).toBe(200);
  });

  it("are created once with one signature, which was made for this path", async () => {
    const owner = await funded();
    expectRefused(await create(await signedFor(PATH, owner)), /uri: this request needs a signature for /);
    const header = await signedFor(KEYS, owner, "POST");
    expect((await create(header, { name: "\n" })).status).toBe(400);
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(header)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expectRefused(answer, /nonce: was used before/);
    expect(await listed(owner)).toHaveLength(1);
  });

  it("are revoked by their own wallet, with a signature for that key", async () => {
    const [owner, other] = [await funded(), await funded(0n)];
    const { key, secret } = (await create(await signedFor(KEYS, owner, "POST"))).body;
    const path = `${KEYS}/${key.key_id}`;
    const revoke = (signIn: string) => send(path, signIn, { method: "DELETE" });
    expect((await revoke(await signedFor(path, other, "DELETE"))).status).toBe(404);
    expectRefused(await revoke(await signedFor(KEYS, owner)), /uri: this request needs a signature for /);
    const odd = await send(`${KEYS}/a%0Ab`, undefined, { method: "DELETE" });
    const { resource } = decodePaymentRequiredHeader(odd.headers.get("payment-required") ?? "");
    expect(resource.url).toBe(urlOf(`${KEYS}/a%0Ab`));
    expect(await listed(owner)).toEqual([key]);
    expect((await callWith(secret)).status).toBe(200);
  });

  it("need an account", async () => {
    const stranger = Keypair.generate();
    expect(await listed(stranger)).toEqual([]);
    const header = await signedFor(KEYS, stranger);
    expectRefused(
      await create(await signedFor(KEYS, stranger, "POST")),
      /has no account; its first payment at /,
      "FORBIDDEN",
    );
    const gateway = await world.startAnother({ X402_KEYLESS: "off" });
    expect((await send(KEYS, header, { gateway })).status).toBe(404);
  });
});

describe("a signature", () => {
  it("spends once, on whichever instance", async () => {
    const before = await balanceOf();
    const header = await signedFor(PATH);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(PATH, header)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expectRefused(answer, /nonce: was used before/);
    expect(await balanceOf()).toBe(before - PRICE);
  });

  it("reads the one path that it names, with the method that it names", async () => {
    const { receipt_id: id } = (await send(PATH, await signedFor(PATH))).body.receipt;
    const paths = ["/receipts", `/receipts/${id}`, "/runs", "/v1/keys"];
    for (const path of paths) {
      for (const other of [...paths, PATH, "/", "/receipts?limit=1"])
        if (other !== path)
          expectRefused(await send(path, await signedFor(other)), /uri: this request needs a signature for /);
      expectRefused(
        await send(path, await signedFor(path, wallet, "POST")),
        /requestId: this request needs a signature for GET/,
      );
      for (const requestId of ["", "get", "GET POST"])
        expectRefused(await send(path, await signedFor(path, wallet, requestId)), /requestId: /);
    }
  });

  it("of a read creates, changes and revokes no API key, and buys nothing", async () => {
    const owner = await funded();
    const post = { method: "POST", body: {} as never };
    const { key } = (await send("/v1/keys", await signedFor("/v1/keys", owner, "POST"), post)).body;
    const one = `/v1/keys/${key.key_id}`;
    for (const [path, more] of [
      ["/v1/keys", post],
      [one, { method: "PATCH", body: { name: "x" } as never }],
      [one, { method: "DELETE" }],
      [PATH, {}],
    ] as const)
      expectRefused(
        await send(path, await signedFor(path, owner, "GET"), more),
        /requestId: this request needs a signature for (POST|PATCH|DELETE)/,
      );
    const { body } = await send("/v1/keys", await signedFor("/v1/keys", owner));
    expect(body.keys).toEqual([key]);
    expect(await balanceOf(owner)).toBe(1_000_000n);
  });

  it("is good for nothing once it changed something, whatever else was signed with its nonce", async () => {
    const owner = await funded();
    const info = await challenge({ requestId: "POST" });
    const read = await sign({ ...info, uri: urlOf("/receipts"), requestId: "GET" }, owner);
    expect((await send("/receipts", read)).status).toBe(200);
    const bought = await sign(info, owner);
    expect((await send(PATH, bought)).status).toBe(200);
    expectRefused(await send(PATH, bought), /nonce: was used before/);
    expectRefused(await send("/receipts", read), /nonce: was used before/);
    const create = await sign({ ...info, uri: urlOf("/v1/keys") }, owner);
    expectRefused(
      await send("/v1/keys", create, { method: "POST", body: {} as never }),
      /nonce: was used before/,
    );
  });

  it.each(["//receipts", "/runs/../receipts", "/receipts#x", "/./receipts", "/\\receipts"])(
    "is refused for the URL %s, which is not written as it is read",
    async (path) => {
      const uri = path.startsWith("//") ? `${urlOf("").toUpperCase()}/receipts` : urlOf(path);
      const header = await sign(await challenge({ uri, requestId: "GET" }));
      expectRefused(await send("/receipts", header), /uri: /);
    },
  );

  it("spends on the tool that it names only", async () => {
    const before = await balanceOf();
    for (const path of ["/x402/echo", "/receipts", "/x402/vram_estimate?x=1", "/"])
      expectRefused(
        await send(PATH, await signedFor(path, wallet, "POST")),
        /uri: this request needs a signature for /,
      );
    expect(await balanceOf()).toBe(before);
  });

  it("stays unused beside a payment, which buys the call", async () => {
    const before = await balanceOf();
    const payer = await x402Payer(world);
    const header = await signedFor(PATH);
    const signed = await payer.sign((await send(PATH)).headers.get("payment-required") ?? "");
    const paid = await send(PATH, header, { more: { "PAYMENT-SIGNATURE": signed } });
    expect(paid.body).toMatchObject({ ok: true, receipt: { paid_by: "gasless" } });
    expect(await balanceOf()).toBe(before);
    expect((await send(PATH, header)).body).toMatchObject({ ok: true, receipt: { paid_by: "balance" } });
  });

  it("is refused for another domain or address of the gateway", async () => {
    const domain = "evil.example";
    const foreign = await challenge({ domain, uri: `https://${domain}${PATH}` });
    expectRefused(await send(PATH, await sign(foreign)), /uri: must be a URL of /);
    const mixed = {
      ...(await createSIWxPayload(foreign, await walletSigner(wallet), foreign.uri)),
      uri: urlOf(PATH),
    };
    expectRefused(await send(PATH, encodeSIWxHeader(mixed)), /domain: must be /);
    const hidden = { ...mixed, domain: new URL(urlOf("")).host };
    expectRefused(await send(PATH, encodeSIWxHeader(hidden)), /signature: /);
  });

  it("is refused with another time, statement, chain, or signer than it signs", async () => {
    const issuedAt = new Date(Date.now() + MINUTE).toISOString();
    for (const [change, message] of [
      [{ issuedAt }, /issuedAt: must be /],
      [{ expirationTime: issuedAt }, /expirationTime: must be /],
      [{ statement: "hello" }, /statement: must be /],
      [{ chainId: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" }, /chainId: must be /],
      [{ resources: [urlOf("/")] }, /signature: /],
    ] as const)
      expectRefused(await send(PATH, await sign(await challenge(change as Partial<Info>))), message);
    const get = await sign(await challenge({ requestId: "GET" }), wallet, { requestId: "POST" });
    expectRefused(await send(PATH, get), /signature: /);
    const address = Keypair.generate().publicKey.toBase58();
    expectRefused(await send(PATH, await sign(await challenge(), wallet, { address })), /signature: /);
    expectRefused(await send(PATH, await sign(await challenge(), wallet, { address: "x" })), /address: /);
    for (const header of ["", "!", "e30=", "W10=", "A".repeat(9_000)])
      expect((await send(PATH, header)).status, header.slice(0, 10)).toBe(401);
  });

  it("is refused with an expired or future nonce, or one of another purpose", async () => {
    const nonceAt = (offset: number) =>
      new SealedNonces(world.postgres.sealingKeys, { now: () => Date.now() + offset }, systemRandom).issue();
    const dated = async (offset: number) => {
      const { nonce, issuedAt } = nonceAt(offset);
      return sign(
        await challenge({
          nonce,
          issuedAt: new Date(issuedAt).toISOString(),
          expirationTime: new Date(issuedAt + 5 * MINUTE).toISOString(),
        }),
      );
    };
    for (const offset of [-5 * MINUTE, 2 * MINUTE])
      expectRefused(await send(PATH, await dated(offset)), /nonce: has expired/);
    expect((await send(PATH, await dated(-4 * MINUTE))).status).toBe(200);
    const content = decodeBase58(nonceAt(0).nonce)?.subarray(0, 16) ?? Buffer.alloc(0);
    const { secret } = world.postgres.sealingKeys.current();
    const code = createHmac("sha256", secret).update("offer:").update(content).digest().subarray(0, 16);
    const offer = (await send(PATH)).body.quote.quote_id;
    for (const nonce of [encodeBase58(Buffer.concat([content, code])), offer, offer.slice(3), "12345678"])
      expectRefused(await send(PATH, await sign(await challenge({ nonce }))), /nonce: is not one of this/);
  });

  it("is refused where calls without a key are off", async () => {
    const gateway = await world.startAnother({ X402_KEYLESS: "off" });
    expectRefused(await send("/receipts", await signedFor("/receipts"), { gateway }), /X402_KEYLESS/);
  });

  it("has the limits of the wallet's account, and takes nothing from its address", async () => {
    const left = ({ headers }: Answer) => Number(headers.get("x-ratelimit-remaining"));
    const signer = await funded(0n, { ratePerMinute: 1, burst: 5 });
    const header = await signedFor("/receipts", signer);
    const before = left(await send(PATH));
    const answers = await Promise.all(Array.from({ length: 8 }, () => send("/receipts", header)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.message).toMatch(/^too many requests signed by this wallet \(1 per minute\)/);
    expect(refused?.headers.get("x-ratelimit-limit")).toBe("1");
    expect(left(await send(PATH))).toBeGreaterThanOrEqual(before - 1);
  });

  it("is limited with all unpaid answers of its address when it is not valid", async () => {
    const forged = await sign(await challenge(), wallet, { nonce: "1".repeat(43) });
    const seen = new Set<number>();
    const flood = async () => {
      const answers = await Promise.all(
        Array.from({ length: UNPAID_RATE.burst }, () => send("/receipts", forged)),
      );
      for (const { status } of answers) seen.add(status);
      return seen;
    };
    // A slow machine sends no faster than the limit allows again.
    await expect.poll(flood).toEqual(new Set([401, 429]));
  });
});
