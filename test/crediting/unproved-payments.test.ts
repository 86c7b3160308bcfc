import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey, type TransactionInstruction } from "@solana/web3.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { memoOf, xPayment, type Agent } from "../support/world.ts";
import { PRICE, setScene, soon, type Scene, type Watching } from "./fixture.ts";

/** Incoming and outgoing transfers, without any proof. */
let scene: Scene;
let gateway: Watching;
let agent: Agent;
beforeAll(async () => {
  scene = await setScene();
  gateway = await scene.start();
});
beforeEach(async () => {
  agent = await scene.agent();
});
afterEach(async () => {
  expect(await scene.violations()).toEqual([]);
});
afterAll(() => scene.close());

const balance = () => scene.postgres.ledger.balance(agent.accountId);
const held = async () => (await scene.postgres.treasuryLedger.watch(scene.payTo))?.expected ?? 0n;

/** Moves USDC between token accounts; `from` signs. */
function transfer(from: PublicKey, to: PublicKey, amount: bigint): TransactionInstruction {
  const { controls } = scene.chain;
  const [source, target] = [controls.usdcAccount(from), controls.usdcAccount(to)];
  return createTransferCheckedInstruction(
    source,
    new PublicKey(USDC_MINT),
    target,
    from,
    amount,
    USDC_DECIMALS,
  );
}

describe("a payment without a proof", () => {
  it("credits the account of its quote after finality, which pays the next call", async () => {
    const quote = await gateway.quote(agent);
    const before = await gateway.figure("toolgate_payments_credited_total");
    await scene.pay(agent, PRICE + 234n, memoOf(quote));
    expect(await balance()).toBe(0n);
    scene.finalize();
    await expect.poll(balance, soon).toBe(PRICE + 234n);
    expect(await gateway.figure("toolgate_payments_credited_total")).toBe((before ?? 0) + 1);
    const bought = await gateway.buy(agent);
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", debited_usdc_microusd: Number(PRICE) });
    expect(await balance()).toBe(234n);
  });

  it("buys its call when the proof arrives later, and is credited once", async () => {
    const quote = await gateway.quote(agent);
    const tx = await scene.pay(agent, PRICE, memoOf(quote));
    scene.finalize();
    await expect.poll(balance, soon).toBe(PRICE);
    const bought = await gateway.buy(agent, xPayment(tx, quote.quote_id));
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    expect(bought.body.receipt).toMatchObject({ paid_by: "transfer", tx_signature: tx, status: "final" });
    expect((await gateway.buy(agent, xPayment(tx, quote.quote_id))).body).toEqual(bought.body);
    expect(await balance()).toBe(0n);
  });
});

it("finalizes a proved payment without crediting it again", async () => {
  const quote = await gateway.quote(agent);
  const before = (await gateway.figure("toolgate_payments_finalized_total")) ?? 0;
  const tx = await scene.pay(agent, PRICE, memoOf(quote));
  expect((await gateway.buy(agent, xPayment(tx, quote.quote_id))).status).toBe(200);
  scene.finalize();
  await expect.poll(() => gateway.figure("toolgate_payments_finalized_total"), soon).toBe(before + 1);
  const unrecorded = await scene.postgres.treasuryLedger.unrecorded(scene.payTo, [tx]);
  expect(unrecorded).toEqual([]);
  expect(await balance()).toBe(0n);
});

it.each([
  ["no memo", undefined],
  ["a memo that names no quote", "svc:qt_2NEpo7TZRRrLZSi2U"],
])("holds a transfer with %s in suspense", async (_what, memo) => {
  const before = (await gateway.figure("toolgate_suspense_transfers")) ?? 0;
  const tx =
    memo === undefined
      ? await scene.send(agent, [transfer(agent.wallet.publicKey, scene.treasury.publicKey, 777n)])
      : await scene.pay(agent, 777n, memo);
  scene.finalize();
  await expect.poll(() => gateway.figure("toolgate_suspense_transfers"), soon).toBe(before + 1);
  const { items } = await scene.postgres.suspense.list({ limit: 1, cursor: undefined, status: "open" });
  expect(items).toMatchObject([
    { txSignature: tx, amount: 777n, memos: memo, payer: agent.wallet.publicKey.toBase58() },
  ]);
  expect(await balance()).toBe(0n);
  expect(gateway.log.filter(({ tx_signature }) => tx_signature === tx).map(({ msg }) => msg)).toEqual([
    "a transfer names no quote of this gateway and is held in suspense",
  ]);
});

it("records a withdrawal by the treasury's owner", async () => {
  const quote = await gateway.quote(agent);
  await scene.pay(agent, 5_000n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(5_000n);
  const before = await held();
  await scene.send(
    agent,
    [transfer(scene.treasury.publicKey, agent.wallet.publicKey, 3_000n)],
    scene.treasury,
  );
  scene.finalize();
  await expect.poll(held, soon).toBe(before - 3_000n);
  expect(await balance()).toBe(5_000n);
});

it("finds payments made while no instance ran, once", async () => {
  const quote = await gateway.quote(agent);
  await gateway.close();
  await scene.pay(agent, 900n, memoOf(quote));
  await scene.send(agent, [transfer(agent.wallet.publicKey, scene.treasury.publicKey, 1n)]);
  scene.finalize();
  scene.chain.chain.advance(500);
  gateway = await scene.start();
  await expect.poll(balance, soon).toBe(900n);
  await gateway.close();
  gateway = await scene.start();
  const before = await held();
  await scene.pay(agent, 50n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(950n);
  expect(await held()).toBe(before + 50n);
});

it("reports the age of the last check and the leader as metrics", async () => {
  await expect.poll(() => gateway.figure("toolgate_keeper_leading"), soon).toBe(1);
  await expect.poll(() => gateway.figure("toolgate_watch_age_seconds"), soon).toBeLessThan(3);
  for (const work of ["lead", "watch", "rescan", "reconcile", "finality", "figures"]) {
    expect(await gateway.figure("toolgate_keeper_failures_total", `{work="${work}"}`), work).toBe(0);
  }
});
