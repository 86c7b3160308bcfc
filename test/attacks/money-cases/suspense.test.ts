import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, World } from "../../support/world.ts";
import { memo, transfer } from "../instructions.ts";
import {
  callWith,
  expectAccount,
  expectNothing,
  expectRefused,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
  type Offer,
} from "../scene.ts";

/**
 * Transfers that name no quote of the gateway: they buy nothing, and the operator assigns them to an
 * account.
 */
let world: World;
let agent: Agent;
let offer: Offer;
beforeAll(async () => {
  world = await startScene();
  const { treasuryLedger: treasuryBooks } = world.postgres;
  if (!(await treasuryBooks.watch(world.gateway.payTo)))
    await treasuryBooks.startWatch(world.gateway.payTo, { amount: 0n, slot: 0n });
});
beforeEach(async () => {
  agent = await world.agent();
  offer = await offerFor(world, agent);
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

/** Records the transfer as the treasury watch does. */
async function seen(tx: string): Promise<void> {
  await world.postgres.treasuryLedger.record(world.gateway.payTo, {
    txSignature: tx,
    slot: BigInt(world.chain.chain.slots.current),
    blockTime: new Date(),
    change: PRICE,
    memo: undefined,
    memos: undefined,
    payer: agent.wallet.publicKey.toBase58(),
    attribution: undefined,
  });
}

const OWNERLESS =
  /names no quote of this gateway and buys no call\. Send the transaction signature to the operator, who credits such transfers to their payers; then repeat the call without a proof$/;

const FORMS: [string, () => ReturnType<typeof memo>[]][] = [
  ["without a memo", () => []],
  ["with a memo of its own", () => [memo("for the estimate, thank you")]],
  ["with a quote that was never issued", () => [memo(`svc:qt_${base58.encode(Buffer.alloc(81, 7))}`)]],
];

describe("a transfer in suspense", () => {
  it.each(FORMS)("%s buys no call before or after the operator assigns it", async (_name, memos) => {
    const tx = await world.send(agent, [...memos(), transfer(world, agent, PRICE)]);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /no memo|has our form|no quote of this gateway/,
    );
    await seen(tx);
    for (const extra of [{}, { idempotency_key: "k" }])
      expectRefused(await callWith(world, agent, tx, offer.quoteId, extra), OWNERLESS);
    await expectNothing(world, agent);
    const { accountId } = agent;
    await world.postgres.suspense.assign({
      txSignature: tx,
      to: { accountId },
      reason: "asked, with the signature",
    });
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
    expectRefused(await callWith(world, agent, tx, offer.quoteId), OWNERLESS);
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
    const bought = await world.call(agent, TOOL, PARAMS, { body: { idempotency_key: "k" } });
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", tx_signature: null });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("stays in suspense when another account names it", async () => {
    const tx = await world.send(agent, [transfer(world, agent, PRICE)]);
    await seen(tx);
    const thief = await world.agent();
    const own = await offerFor(world, thief);
    for (const quoteId of [own.quoteId, offer.quoteId])
      expectRefused(await callWith(world, thief, tx, quoteId), OWNERLESS);
    await expectNothing(world, thief);
    await expectNothing(world, agent);
    const { items } = await world.postgres.suspense.list({ limit: 100, cursor: undefined, status: "open" });
    expect(items.map(({ txSignature }) => txSignature)).toContain(tx);
  });
});
