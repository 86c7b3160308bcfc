import { base58 } from "@scure/base";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { xPayment } from "../../support/world.ts";
import { memo, transfer } from "../instructions.ts";
import { buyer, expectRefused, PRICE, useScene, type Buyer } from "../scene.ts";

/**
 * What the operator moves: refunds of calls, which every response shows, and transfers that name no quote,
 * which buy nothing until they are assigned to an account.
 */
const world = useScene();
const KEY = { idempotency_key: "k" };
let by: Buyer;
beforeAll(async () => {
  const { treasuryLedger } = world.postgres;
  if (!(await treasuryLedger.watch(world.gateway.payTo)))
    await treasuryLedger.startWatch(world.gateway.payTo, { amount: 0n, slot: 0n });
});
beforeEach(async () => {
  by = await buyer(world);
});

/** Records the transfer as the treasury watch does. */
async function seen(tx: string): Promise<void> {
  await world.postgres.treasuryLedger.record(world.gateway.payTo, {
    txSignature: tx,
    slot: BigInt(world.chain.chain.slots.current),
    blockTime: new Date(),
    change: PRICE,
    memo: undefined,
    memos: undefined,
    payer: by.agent.wallet.publicKey.toBase58(),
    attribution: undefined,
  });
}

const OWNERLESS =
  /names no quote of this gateway and buys no call\. Send the transaction signature to the operator, who credits such transfers to their payers; then repeat the call without a proof$/;

describe("a transfer in suspense", () => {
  it.each<[string, ReturnType<typeof memo>[]]>([
    ["without a memo", []],
    ["with a memo of its own", [memo("for the estimate, thank you")]],
    ["with a quote that was never issued", [memo(`svc:qt_${base58.encode(Buffer.alloc(81, 7))}`)]],
  ])("%s buys no call before or after the operator assigns it", async (_name, memos) => {
    const tx = await by.send([...memos, transfer(world, by.agent, PRICE)]);
    await by.expectRefused(tx, /no memo|has our form|no quote of this gateway/);
    await seen(tx);
    for (const extra of [{}, KEY]) expectRefused(await by.prove(tx, extra), OWNERLESS);
    await by.expectNothing();
    const to = { accountId: by.agent.accountId };
    await world.postgres.suspense.assign({ txSignature: tx, to, reason: "asked, with the signature" });
    await by.expectAccount(PRICE, 0);
    await by.expectRefused(tx, OWNERLESS);
    await by.expectAccount(PRICE, 0);
    const bought = await by.call({ body: KEY });
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", tx_signature: null });
    await by.expectOneCall();
  });

  it("stays in suspense when another account names it", async () => {
    const tx = await by.send([transfer(world, by.agent, PRICE)]);
    await seen(tx);
    const thief = await buyer(world);
    for (const { offer } of [thief, by]) expectRefused(await thief.prove(tx, {}, offer), OWNERLESS);
    await thief.expectNothing();
    await by.expectNothing();
    const { items } = await world.postgres.suspense.list({ limit: 100, cursor: undefined, status: "open" });
    expect(items.map(({ txSignature }) => txSignature)).toContain(tx);
  });
});

const refund = (receiptId: string) =>
  world.postgres.refunds.refund({ receiptId, reason: "the answer was wrong" });

it("shows the refund in the receipt, in lists and in the stored answer, and keeps the run unchanged", async () => {
  const tx = await by.pay(PRICE + 5n);
  const { receipt, ...rest } = (await by.expectBought(tx, KEY)).body;
  expect(receipt).toMatchObject({ status: "final", refunded_usdc_microusd: 0 });
  expect(await refund(receipt.receipt_id)).toMatchObject({ refunded: true });
  expect(await refund(receipt.receipt_id)).toMatchObject({ refunded: false });
  await by.expectAccount(PRICE + 5n, 1);

  const reported = { ...receipt, status: "refunded", refunded_usdc_microusd: 1000 };
  expect(await by.receipts("?status=refunded")).toEqual([reported]);
  expect(await by.receipts("?status=final")).toEqual([]);
  expect((await world.get(by.agent, `/receipts/${receipt.receipt_id}`)).body).toEqual(reported);
  for (const how of [{ headers: xPayment(tx, by.quoteId) }, { body: KEY }])
    expect((await by.call(how)).body).toEqual({ ...rest, receipt: reported });
  const [run] = (await world.get(by.agent, "/runs")).body.items;
  const { receipt_id } = receipt;
  expect(run).toMatchObject({ status: "completed", spent_usdc_microusd: 1000, receipt_id });
  await by.expectAccount(PRICE + 5n, 1);
});

it("pays the next call with the refund, which is not refunded again", async () => {
  await by.deposit(PRICE);
  const { receipt_id: first } = (await by.call()).body.receipt;
  await refund(first);
  expect((await by.call()).body.receipt).toMatchObject({ paid_by: "balance", status: "final" });
  await refund(first);
  await by.expectAccount(0n, 2);
  expect((await by.receipts()).map(({ status }) => status)).toEqual(["final", "refunded"]);
});
