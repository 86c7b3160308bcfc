import { base58 } from "@scure/base";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import type { SealingKeys } from "../../src/domain/payments/quote.ts";
import { query } from "../support/database-server.ts";
import { request, xPayment } from "../support/world.ts";
import {
  buyer,
  Buyer,
  expectBought,
  expectRefused,
  OTHER_PARAMS,
  PARAMS,
  pastOffer,
  payer,
  PRICE,
  TOOL,
  USED,
  useScene,
} from "./scene.ts";

const world = useScene();
const NOT_OURS = /the quote was not issued by this gateway/;
const BODY = JSON.stringify({ tool: TOOL, params: PARAMS });

async function expectStillGood(by: Buyer, tx: string): Promise<void> {
  await by.expectNothing();
  await by.expectBought(tx);
  await by.expectOneCall();
}

/** A quote sealed with another key, and its payment. */
async function sealedWith(key: ReturnType<SealingKeys["current"]>, agent?: Buyer["agent"]) {
  const owner = agent ?? (await world.agent());
  const by = new Buyer(world, owner, pastOffer({ current: () => key, version: () => key }, owner, 0));
  return { by, tx: await by.pay() };
}

const setSecret = (secret: string) =>
  query(world.database.url, `update sealing_key set secret = ${secret} where version = 1`);

describe("a proof and the quoted account", () => {
  it("refuses another account's proof, although signature, quote and memo are public", async () => {
    const { by, tx } = await payer(world);
    const thief = await buyer(world);
    for (const extra of [{}, { idempotency_key: "mine" }])
      expectRefused(await thief.prove(tx, extra, by.offer), /the quote was issued to another account/);
    await thief.expectNothing();
    await expectStillGood(by, tx);
    expectRefused(await thief.prove(tx, {}, by.offer), USED);
    await thief.expectNothing();
  });

  it("accepts a proof from every key of the quoted account", async () => {
    const { by, tx } = await payer(world);
    const wanted = { accountId: by.agent.accountId, name: "second", scopes: DEFAULT_SCOPES };
    const { key, secret } = await world.postgres.apiKeys.create(wanted);
    await expectStillGood(new Buyer(world, { ...by.agent, keyId: key.keyId, apiKey: secret }, by.offer), tx);
    await by.expectBought(tx);
    await by.expectOneCall();
  });
});

describe("a proof and the quoted call", () => {
  it.each<[string, object]>([
    ["another model", OTHER_PARAMS],
    ["one more parameter", { ...PARAMS, batch_size: 1 }],
  ])("refuses a proof for %s", async (_name, params) => {
    const { by, tx } = await payer(world);
    const headers = xPayment(tx, by.quoteId);
    for (const body of [{}, { idempotency_key: "k" }])
      expectRefused(
        await by.call({ headers, body }, params),
        /another tool or other params; repeat the call exactly/,
      );
    await expectStillGood(by, tx);
    expectRefused(await by.call({ headers }, params), USED);
    await by.expectOneCall();
  });

  it("runs a free tool without using the proof", async () => {
    const { by, tx } = await payer(world);
    const extra = { headers: xPayment(tx, by.quoteId), body: { idempotency_key: "free" } };
    const free = await world.call(by.agent, "echo", { message: "" }, extra);
    expect(free.body).toEqual({ ok: true, result: { echo: "" } });
    await expectStillGood(by, tx);
  });

  it("charges the quoted price when the price has changed", async () => {
    const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-prices-"));
    // All instances switch to the configuration of one that starts with another file.
    const startWithPrice = async (price: number) => {
      const file = path.join(folder, `${price}.json`);
      await writeFile(file, JSON.stringify({ prices: { vram_estimate: { flat_microusd: price } } }));
      return world.startAnother({ TOOLGATE_CONFIG: file });
    };
    const other = await world.agent();
    const quoted = async () => (await world.call(other, TOOL, PARAMS)).body.quote.price_usdc_microusd;
    try {
      for (const now of [5_000, 10]) {
        const { by, tx } = await payer(world);
        const init = { method: "POST", body: BODY };
        const proof = xPayment(tx, by.quoteId);
        const repriced = await startWithPrice(now);
        const answer = await request(repriced, by.agent, "/v1/mcp/tools/call", init, proof);
        expectBought(answer, tx, by.quoteId);
        await by.expectOneCall();
        await startWithPrice(Number(PRICE));
        await expect.poll(quoted).toBe(Number(PRICE));
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("a quote id", () => {
  it("refuses a quote id with any byte changed, without a lookup", async () => {
    const { by, tx } = await payer(world);
    const sealed = base58.decode(by.quoteId.slice(3));
    world.chain.faults.resetCallCounts();
    const answers = await Promise.all(
      Array.from(sealed, (byte, index) => {
        const changed = Uint8Array.from(sealed);
        changed[index] = byte ^ (1 << (index % 8));
        return by.prove(tx, {}, { ...by.offer, quoteId: `qt_${base58.encode(changed)}` });
      }),
    );
    expect(answers).toHaveLength(99);
    const unchanged = new RegExp(`${NOT_OURS.source}; use the quote_id of the 402 response, unchanged`);
    for (const answer of answers) expectRefused(answer, unchanged);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
    await expectStillGood(by, tx);
  });

  it.each([
    ["cut short", (id: string) => id.slice(0, -1)],
    ["made longer", (id: string) => `${id}1`],
    ["with a leading zero byte", (id: string) => id.replace("qt_", "qt_1")],
  ])("refuses a quote id that is %s", async (_name, change) => {
    const { by, tx } = await payer(world);
    expectRefused(await by.prove(tx, {}, { ...by.offer, quoteId: change(by.quoteId) }), NOT_OURS);
    await expectStillGood(by, tx);
  });

  it.each([
    ["without its prefix", (id: string) => id.slice(3)],
    ["in other letters", (id: string) => id.toUpperCase()],
    ["with a letter that base58 has not", (id: string) => `${id.slice(0, -1)}0`],
    ["of two hundred and one characters", () => `qt_${"z".repeat(198)}`],
    ["with a space after it", (id: string) => `${id} `],
    ["with a NUL after it", (id: string) => `${id}\0`],
  ])("rejects %s as a quote id", async (_name, change) => {
    const { by, tx } = await payer(world);
    const quoteId = change(by.quoteId);
    expectRefused(
      await by.prove(tx, {}, { ...by.offer, quoteId }),
      /^X-Payment: quote_id: must be the quote_id of a 402 answer/,
      "INVALID_PAYMENT",
      400,
    );
    // The proto validation rules reject long identifiers.
    const [says, code] =
      quoteId.length > 200 ? ["", "INVALID_REQUEST"] : ["must be the quote_id", "INVALID_PAYMENT"];
    const inBody = await by.claim({ tx_ref: tx, quote_id: quoteId });
    expectRefused(inBody, new RegExp(`^payment_proof\\.quote_id: ${says}`), code, 400);
    await expectStillGood(by, tx);
  });

  it("refuses a quote id of another installation", async () => {
    const own = await payer(world);
    const { by, tx } = await sealedWith({ version: 1, secret: Buffer.alloc(32, 7) }, own.by.agent);
    await by.expectRefused(tx, NOT_OURS);
    await own.by.expectRefused(tx, /names no quote of this gateway; the operator can assign/);
    await expectStillGood(own.by, own.tx);
  });

  it("refuses a quote id whose sealing key was retired, and accepts it once the key is back", async () => {
    const secret = Buffer.alloc(32, 9);
    const { by, tx } = await sealedWith({ version: 9, secret });
    await by.expectRefused(tx, NOT_OURS);
    await by.expectNothing();
    await query(
      world.database.url,
      `insert into sealing_key (version, secret, active_from)
        values (9, '\\x${secret.toString("hex")}', now() + interval '1 day')`,
    );
    await expect.poll(async () => (await by.prove(tx)).status, { interval: 300 }).toBe(200);
    await by.expectOneCall();
  });

  it("returns the stored answer of a paid quote after its sealing key is gone", async () => {
    const key = world.postgres.sealingKeys.current();
    const { by, tx } = await sealedWith(key);
    await by.expectBought(tx);
    await setSecret("decode(repeat('ab', 32), 'hex')");
    const successor = await world.startAnother();
    const init = { method: "POST", body: BODY };
    const answer = await request(successor, by.agent, "/v1/mcp/tools/call", init, xPayment(tx, by.quoteId));
    await setSecret(`'\\x${key.secret.toString("hex")}'`);
    expectBought(answer, tx, by.quoteId);
    await by.expectOneCall();
  });
});
