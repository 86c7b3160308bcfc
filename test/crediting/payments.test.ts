import { createTransferCheckedInstruction } from "@solana/spl-token";
import { PublicKey, type TransactionInstruction } from "@solana/web3.js";
import { beforeEach, describe, expect, it } from "vitest";
import { USDC_DECIMALS, USDC_MINT } from "../../src/localchain/index.ts";
import { memoOf, xPayment, type Agent, request } from "../support/world.ts";
import { PRICE, soon, useScene } from "./fixture.ts";
import { formatUsdc } from "../../src/domain/core/money.ts";
import type { Faults } from "../../src/localchain/faults.ts";
import type { Json } from "../../src/localchain/json.ts";

/** Payments with and without proofs, that vanish, and that an endpoint omits. */
const scene = useScene();
let agent: Agent;
beforeEach(async () => {
  agent = await scene.agent();
});

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

it("reports the age of the last check and the leader as metrics", async () => {
  await expect.poll(() => scene.gateway.figure("toolgate_keeper_leading"), soon).toBe(1);
  await expect.poll(() => scene.gateway.figure("toolgate_watch_age_seconds"), soon).toBeLessThan(3);
  for (const work of ["lead", "watch", "rescan", "reconcile", "finality", "figures"]) {
    expect(await scene.gateway.figure("toolgate_keeper_failures_total", `{work="${work}"}`), work).toBe(0);
  }
});

describe("a payment without a proof", () => {
  it("credits the account of its quote after finality, which pays the next call", async () => {
    const quote = await scene.gateway.quote(agent);
    const before = await scene.gateway.figure("toolgate_payments_credited_total");
    await scene.pay(agent, PRICE + 234n, memoOf(quote));
    expect(await balance()).toBe(0n);
    scene.finalize();
    await expect
      .poll(() => scene.gateway.figure("toolgate_payments_credited_total"), soon)
      .toBe((before ?? 0) + 1);
    expect(await balance()).toBe(PRICE + 234n);
    const bought = await scene.gateway.buy(agent);
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", debited_usdc_microusd: Number(PRICE) });
    expect(await balance()).toBe(234n);
  });

  it("buys its call when the proof arrives later, and is credited once", async () => {
    const quote = await scene.gateway.quote(agent);
    const tx = await scene.pay(agent, PRICE, memoOf(quote));
    scene.finalize();
    await expect.poll(balance, soon).toBe(PRICE);
    const bought = await scene.gateway.buy(agent, xPayment(tx, quote.quote_id));
    expect(bought.status, JSON.stringify(bought.body)).toBe(200);
    expect(bought.body.receipt).toMatchObject({ paid_by: "transfer", tx_signature: tx, status: "final" });
    expect((await scene.gateway.buy(agent, xPayment(tx, quote.quote_id))).body).toEqual(bought.body);
    expect(await balance()).toBe(0n);
  });
});

it("finalizes a proved payment without crediting it again", async () => {
  const quote = await scene.gateway.quote(agent);
  const before = (await scene.gateway.figure("toolgate_payments_finalized_total")) ?? 0;
  const tx = await scene.pay(agent, PRICE, memoOf(quote));
  expect((await scene.gateway.buy(agent, xPayment(tx, quote.quote_id))).status).toBe(200);
  scene.finalize();
  await expect.poll(() => scene.gateway.figure("toolgate_payments_finalized_total"), soon).toBe(before + 1);
  const unrecorded = await scene.postgres.treasuryLedger.unrecorded(scene.payTo, [tx]);
  expect(unrecorded).toEqual([]);
  expect(await balance()).toBe(0n);
});

it.each([
  ["no memo", undefined],
  ["a memo that names no quote", "svc:qt_2NEpo7TZRRrLZSi2U"],
])("holds a transfer with %s in suspense", async (_what, memo) => {
  const before = (await scene.gateway.figure("toolgate_suspense_transfers")) ?? 0;
  const tx =
    memo === undefined
      ? await scene.send(agent, [transfer(agent.wallet.publicKey, scene.treasury.publicKey, 777n)])
      : await scene.pay(agent, 777n, memo);
  scene.finalize();
  await expect.poll(() => scene.gateway.figure("toolgate_suspense_transfers"), soon).toBe(before + 1);
  const { items } = await scene.postgres.suspense.list({ limit: 1, cursor: undefined, status: "open" });
  expect(items).toMatchObject([
    { txSignature: tx, amount: 777n, memos: memo, payer: agent.wallet.publicKey.toBase58() },
  ]);
  expect(await balance()).toBe(0n);
  expect(scene.gateway.log.filter(({ tx_signature }) => tx_signature === tx).map(({ msg }) => msg)).toEqual([
    "a transfer names no quote of this gateway and is held in suspense",
  ]);
});

it("records a withdrawal by the treasury's owner", async () => {
  const quote = await scene.gateway.quote(agent);
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
  const quote = await scene.gateway.quote(agent);
  await scene.gateway.close();
  await scene.pay(agent, 900n, memoOf(quote));
  await scene.send(agent, [transfer(agent.wallet.publicKey, scene.treasury.publicKey, 1n)]);
  scene.finalize();
  scene.chain.chain.advance(500);
  scene.gateway = await scene.start();
  await expect.poll(balance, soon).toBe(900n);
  await scene.gateway.close();
  scene.gateway = await scene.start();
  const before = await held();
  await scene.pay(agent, 50n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(950n);
  expect(await held()).toBe(before + 50n);
});

const receiptStatus = async () => {
  const { body } = await request(scene.gateway, agent, "/receipts", { method: "GET" });
  return body.items.map(({ status }: { status: string }) => status);
};

it("reverses a vanished payment, blocks paid calls and reinstates it when it lands", async () => {
  const quote = await scene.gateway.quote(agent);
  const tx = await scene.pay(agent, PRICE, memoOf(quote));
  const bought = await scene.gateway.buy(agent, xPayment(tx, quote.quote_id));
  expect(bought.status, JSON.stringify(bought.body)).toBe(200);
  const { chain } = scene.chain;
  const record = chain.history.get(tx);
  if (!record) throw new Error("the payment landed");
  expect(chain.drop(tx)).toBe(true);
  chain.advance(550);
  expect(await scene.gateway.figure("toolgate_payments_reversed_total")).toBe(0);
  expect(await balance()).toBe(0n);

  chain.advance(100);
  await expect.poll(() => scene.gateway.figure("toolgate_payments_reversed_total"), soon).toBe(1);
  expect(await balance()).toBe(-PRICE);
  expect(await receiptStatus()).toEqual(["reversed"]);
  expect(scene.gateway.log.filter(({ tx_signature }) => tx_signature === tx)).toMatchObject([
    {
      level: 50,
      msg: "a payment vanished from the chain and was reversed",
      account: agent.accountId,
      amount_usdc: formatUsdc(PRICE),
      balance_usdc: formatUsdc(-PRICE),
    },
  ]);
  const refused = await scene.gateway.buy(agent);
  expect(refused.status).toBe(403);
  expect(refused.body.message).toMatch(/reversed/);
  expect(await scene.violations()).toEqual([]);

  // Another node kept it, and its fork is the one that stays.
  chain.replay(record.transaction, {
    slot: chain.slots.current,
    blockTime: chain.slots.unixSeconds(),
    rooted: true,
  });
  scene.finalize();
  await expect.poll(() => scene.gateway.figure("toolgate_payments_reinstated_total"), soon).toBe(1);
  expect(await balance()).toBe(0n);
  expect(await receiptStatus()).toEqual(["final"]);
  expect((await scene.gateway.buy(agent)).status).toBe(402);
  expect(await scene.violations()).toEqual([]);
});

/** Nodes that omit transactions from their history. */
const HISTORY = "getSignaturesForAddress";
const errors = () => scene.gateway.log.filter(({ level }) => level === 50);
const leftOut = () =>
  scene.gateway.log.filter(({ msg }) => msg.includes("omits transactions of the treasury"));

/** The treasury's finalized history at the second node. */
async function history(): Promise<{ signature: string }[]> {
  const params = [scene.payTo, { commitment: "finalized" }];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: HISTORY, params });
  const answer = (await (await fetch(scene.secondUrl, { method: "POST", body })).json()) as {
    result: { signature: string }[];
  };
  return answer.result;
}

/** Makes a node return this history. */
function prints(faults: Faults, result: Json): void {
  faults.clear(HISTORY);
  faults.add({ method: HISTORY, fault: { kind: "result", result } });
}

describe("an unreliable first endpoint", () => {
  it("credits payments although the first endpoint has no history", async () => {
    const quote = await scene.gateway.quote(agent);
    prints(scene.chain.faults, []);
    await scene.pay(agent, 400n, memoOf(quote));
    scene.finalize();
    await expect.poll(balance, soon).toBe(400n);
  });
});

it("logs that the first endpoint omits recorded transactions", async () => {
  const quote = await scene.gateway.quote(agent);
  await scene.gateway.close();
  prints(scene.chain.faults, await history());
  const lost = await scene.pay(agent, 400n, memoOf(quote));
  scene.chain.chain.advance();
  await scene.pay(agent, 30n, memoOf(quote));
  scene.finalize();
  const without = (await history()).filter(({ signature }) => signature !== lost);
  prints(scene.chain.faults, without);
  scene.gateway = await scene.start();
  await expect.poll(balance, soon).toBe(430n);
  await expect
    .poll(leftOut, soon)
    .toMatchObject([{ level: 40, tx_signatures: [lost], found_at_endpoint: 2, endpoints: 2 }]);
});

it("logs a lasting difference between chain and ledger, and its end", async () => {
  const quote = await scene.gateway.quote(agent);
  const known = await history();
  prints(scene.chain.faults, known);
  prints(scene.secondFaults, known);
  await scene.pay(agent, 55n, memoOf(quote));
  scene.finalize();
  await expect.poll(() => scene.gateway.figure("toolgate_treasury_difference_microusd"), soon).toBe(55);
  await expect.poll(errors, soon).toMatchObject([
    {
      msg: "treasury balance differs from the ledger",
      difference_usdc: "0.000055",
    },
  ]);
  expect(await balance()).toBe(0n);
  scene.chain.faults.clear();
  scene.secondFaults.clear();
  await expect.poll(balance, soon).toBe(55n);
  await expect.poll(() => scene.gateway.figure("toolgate_treasury_difference_microusd"), soon).toBe(0);
  await expect
    .poll(() => scene.gateway.log.map(({ msg }) => msg), soon)
    .toContain("treasury balance matches the ledger");
});

it("keeps working while one endpoint is down, and logs once when all are", async () => {
  const quote = await scene.gateway.quote(agent);
  scene.chain.faults.add({ method: "*", fault: { kind: "http", status: 503 } });
  await scene.pay(agent, 70n, memoOf(quote)).catch(() => {});
  scene.chain.faults.clear();
  scene.secondFaults.add({ method: "*", fault: { kind: "http", status: 503 } });
  await scene.pay(agent, 7n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(7n);
  scene.chain.faults.add({ method: "*", fault: { kind: "http", status: 503 } });
  const failures = () => scene.gateway.figure("toolgate_keeper_failures_total", '{work="watch"}');
  await expect.poll(failures, soon).toBeGreaterThan(3);
  // A run during the change of endpoints may have found neither and logged that.
  const reported = () => scene.gateway.log.filter(({ work }) => work === "watch").map(({ msg }) => msg);
  const [failed, again] = ["treasury job failed, retrying", "treasury job recovered"];
  expect(reported().at(-1)).toBe(failed);
  expect(reported()).toEqual(reported().map((_, nth) => (nth % 2 === 0 ? failed : again)));
  scene.chain.faults.clear();
  scene.secondFaults.clear();
  await expect.poll(() => reported().at(-1), soon).toBe(again);
});
