import { base58 } from "@scure/base";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { query } from "../support/database-server.ts";
import { request, xPayment, type Agent, type World } from "../support/world.ts";
import {
  callWith,
  callWithBody,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PARAMS,
  pastOffer,
  PRICE,
  startScene,
  TOOL,
  USED,
  type Offer,
} from "./scene.ts";

let world: World;
beforeAll(async () => {
  world = await startScene();
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

/** An agent that has paid its quote and not used it yet. */
async function paid(): Promise<{ agent: Agent; offer: Offer; tx: string }> {
  const agent = await world.agent();
  const offer = await offerFor(world, agent);
  return { agent, offer, tx: await world.pay(agent, PRICE, offer.memo) };
}

async function expectStillGood({
  agent,
  offer,
  tx,
}: {
  agent: Agent;
  offer: Offer;
  tx: string;
}): Promise<void> {
  await expectNothing(world, agent);
  expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
  await expectAccount(world, agent, { balance: 0n, receipts: 1 });
}

describe("a proof and the quoted account", () => {
  it("refuses another account's proof, although signature, quote and memo are public", async () => {
    const payment = await paid();
    const thief = await world.agent();
    for (const extra of [{}, { idempotency_key: "mine" }]) {
      expectRefused(
        await callWith(world, thief, payment.tx, payment.offer.quoteId, extra),
        /the quote was issued to another account/,
      );
    }
    await expectNothing(world, thief);
    await expectStillGood(payment);
    expectRefused(await callWith(world, thief, payment.tx, payment.offer.quoteId), USED);
    await expectNothing(world, thief);
  });

  it("accepts a proof from every key of the quoted account", async () => {
    const payment = await paid();
    const { accountId } = payment.agent;
    const { key, secret } = await world.postgres.apiKeys.create({
      accountId,
      name: "second",
      scopes: DEFAULT_SCOPES,
    });
    const colleague = { ...payment.agent, keyId: key.keyId, apiKey: secret };
    await expectStillGood({ ...payment, agent: colleague });
    expectBought(
      await callWith(world, payment.agent, payment.tx, payment.offer.quoteId),
      payment.tx,
      payment.offer.quoteId,
    );
    await expectAccount(world, payment.agent, { balance: 0n, receipts: 1 });
  });
});

describe("a proof and the quoted call", () => {
  const others: [string, object][] = [
    ["another model", { model: "llama-3.1-70b" }],
    ["one more parameter", { ...PARAMS, batch_size: 1 }],
  ];
  it.each(others)("refuses a proof for %s", async (_name, params) => {
    const payment = await paid();
    const headers = xPayment(payment.tx, payment.offer.quoteId);
    for (const body of [{}, { idempotency_key: "k" }]) {
      expectRefused(
        await world.call(payment.agent, TOOL, params, { headers, body }),
        /another tool or other params; repeat the call exactly/,
      );
    }
    await expectStillGood(payment);
    expectRefused(await world.call(payment.agent, TOOL, params, { headers }), USED);
    await expectAccount(world, payment.agent, { balance: 0n, receipts: 1 });
  });

  it("runs a free tool without using the proof", async () => {
    const payment = await paid();
    const headers = xPayment(payment.tx, payment.offer.quoteId);
    const free = await world.call(
      payment.agent,
      "echo",
      { message: "" },
      { headers, body: { idempotency_key: "free" } },
    );
    expect(free.body).toEqual({ ok: true, result: { echo: "" } });
    await expectStillGood(payment);
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
        const { agent, offer, tx } = await paid();
        const repriced = await startWithPrice(now);
        const body = JSON.stringify({ tool: TOOL, params: PARAMS });
        const init = { method: "POST", body };
        const answer = await request(
          repriced,
          agent,
          "/v1/mcp/tools/call",
          init,
          xPayment(tx, offer.quoteId),
        );
        expectBought(answer, tx, offer.quoteId);
        await expectAccount(world, agent, { balance: 0n, receipts: 1 });
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
    const payment = await paid();
    const sealed = base58.decode(payment.offer.quoteId.slice(3));
    world.chain.faults.resetCallCounts();
    const answers = await Promise.all(
      Array.from(sealed, (byte, index) => {
        const changed = Uint8Array.from(sealed);
        changed[index] = byte ^ (1 << (index % 8));
        return callWith(world, payment.agent, payment.tx, `qt_${base58.encode(changed)}`);
      }),
    );
    expect(answers).toHaveLength(99);
    for (const answer of answers)
      expectRefused(
        answer,
        /the quote was not issued by this gateway; use the quote_id of the 402 response, unchanged/,
      );
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
    await expectStillGood(payment);
  });

  it.each([
    ["cut short", (id: string) => id.slice(0, -1)],
    ["made longer", (id: string) => `${id}1`],
    ["with a leading zero byte", (id: string) => id.replace("qt_", "qt_1")],
  ])("refuses a quote id that is %s", async (_name, change) => {
    const payment = await paid();
    const answer = await callWith(world, payment.agent, payment.tx, change(payment.offer.quoteId));
    expectRefused(answer, /the quote was not issued by this gateway/);
    await expectStillGood(payment);
  });

  it.each([
    ["without its prefix", (id: string) => id.slice(3)],
    ["in other letters", (id: string) => id.toUpperCase()],
    ["with a letter that base58 has not", (id: string) => `${id.slice(0, -1)}0`],
    ["of two hundred and one characters", () => `qt_${"z".repeat(198)}`],
    ["with a space after it", (id: string) => `${id} `],
    ["with a NUL after it", (id: string) => `${id}\0`],
  ])("rejects %s as a quote id", async (_name, change) => {
    const payment = await paid();
    const changed = change(payment.offer.quoteId);
    expectRefused(
      await callWith(world, payment.agent, payment.tx, changed),
      /^X-Payment: quote_id: must be the quote_id of a 402 answer/,
      "INVALID_PAYMENT",
      400,
    );
    const inBody = await callWithBody(world, payment.agent, { tx_ref: payment.tx, quote_id: changed });
    // The proto validation rules reject long identifiers.
    if (changed.length > 200) expectRefused(inBody, /^payment_proof\.quote_id: /, "INVALID_REQUEST", 400);
    else expectRefused(inBody, /^payment_proof\.quote_id: must be the quote_id/, "INVALID_PAYMENT", 400);
    await expectStillGood(payment);
  });

  it("refuses a quote id of another installation", async () => {
    const payment = await paid();
    const foreign = { version: 1, secret: Buffer.alloc(32, 7) };
    const offer = pastOffer({ current: () => foreign, version: () => foreign }, payment.agent, 0);
    const tx = await world.pay(payment.agent, PRICE, offer.memo);
    expectRefused(
      await callWith(world, payment.agent, tx, offer.quoteId),
      /the quote was not issued by this gateway/,
    );
    expectRefused(
      await callWith(world, payment.agent, tx, payment.offer.quoteId),
      /names no quote of this gateway; the operator can assign/,
    );
    await expectStillGood(payment);
  });

  it("refuses a quote id whose sealing key was retired, and accepts it once the key is back", async () => {
    const agent = await world.agent();
    const retired = { version: 9, secret: Buffer.alloc(32, 9) };
    const offer = pastOffer({ current: () => retired, version: () => retired }, agent, 0);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the quote was not issued by this gateway/,
    );
    await expectNothing(world, agent);
    const hex = retired.secret.toString("hex");
    await query(
      world.database.url,
      `insert into sealing_key (version, secret, active_from)
        values (9, '\\x${hex}', now() + interval '1 day')`,
    );
    await expect
      .poll(async () => (await callWith(world, agent, tx, offer.quoteId)).status, { interval: 300 })
      .toBe(200);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("returns the stored answer of a paid quote after its sealing key is gone", async () => {
    const agent = await world.agent();
    const key = world.postgres.sealingKeys.current();
    const offer = pastOffer({ current: () => key, version: () => key }, agent, 0);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await query(
      world.database.url,
      "update sealing_key set secret = decode(repeat('ab', 32), 'hex') where version = 1",
    );
    const successor = await world.startAnother();
    const init = { method: "POST", body: JSON.stringify({ tool: TOOL, params: PARAMS }) };
    const answer = await request(successor, agent, "/v1/mcp/tools/call", init, xPayment(tx, offer.quoteId));
    await query(
      world.database.url,
      `update sealing_key set secret = '\\x${key.secret.toString("hex")}' where version = 1`,
    );
    expectBought(answer, tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a step id", () => {
  it("refuses the step id of another quote before any lookup", async () => {
    const payment = await paid();
    const other = await offerFor(world, payment.agent);
    world.chain.faults.resetCallCounts();
    const proof = { tx_ref: payment.tx, quote_id: payment.offer.quoteId, step_id: other.stepId };
    expectRefused(await callWithBody(world, payment.agent, proof), /step_id does not belong to the quote/);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
    await expectStillGood(payment);
  });
});
