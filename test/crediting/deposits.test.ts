import { beforeEach, describe, expect, it } from "vitest";
import { paymentInstructions } from "../../src/solana/deposits/payment-instructions.ts";
import type { Agent } from "../support/world.ts";
import {
  AMOUNT,
  DepositState,
  soon,
  useDeposits,
  type Deposit,
  type DepositClient,
} from "./deposit-fixture.ts";

/** Deposits, from their beginning to the balance, as people see them. */
const { WAITING, SEEN, CONFIRMED, FINALIZED, CREDITED, FAILED, UNASSIGNED, CANCELLED } = DepositState;
let depositClient: DepositClient;
let another: DepositClient;
let agent: Agent;
let deposit: Deposit;
/** The first deposit once finalized, before the treasury watch ever ran. */
let unwatched: { agent: Agent; deposit: Deposit; reported: Deposit };
const scene = useDeposits(async () => {
  [depositClient, another] = [scene.depositClient(), scene.depositClient()];
  agent = await scene.agent();
  deposit = await depositClient.begin(agent);
  await pay();
  scene.finalize();
  unwatched = { agent, deposit, reported: await depositClient.get(agent, deposit) };
});
beforeEach(async () => {
  agent = await scene.agent();
  deposit = await depositClient.begin(agent);
});

const stateOf = async (by = depositClient) => (await by.get(agent, deposit)).state;
const pay = (amount = AMOUNT) =>
  scene.transfer(agent, { amount, memo: deposit.memo, reference: deposit.reference });

/** The chain is asked at most once a second. */
const chainLooks = () => scene.chain.faults.callCount("getSignaturesForAddress");

describe("deposits", () => {
  it("creates a deposit with a memo, a reference and a transfer request", async () => {
    expect(deposit).toMatchObject({
      depositId: expect.stringMatching(/^dep_[0-9a-f]{32}$/),
      state: WAITING,
      amountUsdcMicrousd: AMOUNT,
      memo: `svc:${deposit.depositId}`,
      recipient: scene.treasury.publicKey.toBase58(),
      tokenAccount: scene.payTo,
      creditedUsdcMicrousd: 0n,
      solanaPayUrl: expect.stringMatching(/^solana:/),
    });
    expect([deposit.txSignature, deposit.failure, deposit.creditedAt]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect((await depositClient.get(agent, deposit)).state).toBe(WAITING);
    expect((await depositClient.list(agent)).map(({ depositId }) => depositId)).toEqual([deposit.depositId]);
  });

  it("credits a deposit only after the treasury watch has started", async () => {
    expect(unwatched.reported).toMatchObject({ state: FINALIZED, creditedUsdcMicrousd: 0n });
    const { agent: early, deposit: first } = unwatched;
    await expect.poll(async () => (await another.get(early, first)).state, soon).toBe(CREDITED);
    expect(await scene.balance(early)).toBe(AMOUNT);
  });

  it("shows a deposit as seen, confirmed and finalized, and credits it once", async () => {
    const tx = await pay();
    // A transfer that only one node has is not shown.
    expect(await depositClient.get(agent, deposit)).toMatchObject({ state: CONFIRMED, txSignature: tx });
    expect(await scene.balance(agent)).toBe(0n);
    const second = await scene.start();
    scene.finalize();
    const polls = () =>
      Promise.all([depositClient, another, depositClient, another].map((by) => stateOf(by)));
    await expect.poll(polls, soon).toEqual([CREDITED, CREDITED, CREDITED, CREDITED]);
    expect(await scene.balance(agent)).toBe(AMOUNT);
    for (const by of [depositClient, another]) {
      expect(await by.get(agent, deposit)).toMatchObject({
        txSignature: tx,
        creditedUsdcMicrousd: AMOUNT,
        creditedAt: expect.anything(),
      });
    }
    await second.close();
    expect(await scene.balance(agent)).toBe(AMOUNT);
    expect(await depositClient.list(agent)).toMatchObject([{ state: CREDITED, txSignature: tx }]);
  });

  it("credits the sum of several transfers from any wallet", async () => {
    const stranger = await scene.agent();
    await pay(AMOUNT - 1n);
    await scene.transfer(stranger, { amount: 7n, memo: deposit.memo });
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT + 6n);
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: CREDITED,
      creditedUsdcMicrousd: AMOUNT + 6n,
    });
    expect(await scene.balance(stranger)).toBe(0n);
  });

  it("credits a deposit of a blocked account", async () => {
    await scene.postgres.accounts.setBlocked(agent.accountId, { blocked: true, reason: "asked for it" });
    await pay();
    scene.finalize();
    await expect.poll(() => scene.balance(agent), soon).toBe(AMOUNT);
  });

  it("cancels an unpaid deposit, builds no payment for it and credits a transfer that still arrives", async () => {
    await expect(depositClient.cancel(await scene.agent(), deposit)).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect((await depositClient.cancel(agent, deposit)).state).toBe(CANCELLED);
    expect((await another.cancel(agent, deposit)).state).toBe(CANCELLED);
    expect(await depositClient.list(agent)).toMatchObject([{ state: CANCELLED }]);
    await expect(depositClient.build(agent, deposit)).rejects.toThrow(/was cancelled/);
    await pay();
    scene.confirm();
    await expect.poll(() => stateOf(), soon).toBe(CONFIRMED);
    await expect(depositClient.cancel(agent, deposit)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    scene.finalize();
    await expect.poll(() => stateOf(), soon).toBe(CREDITED);
    expect(await scene.balance(agent)).toBe(AMOUNT);
  });

  it("hides a deposit from other accounts", async () => {
    const stranger = await scene.agent();
    await expect(depositClient.get(stranger, deposit)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(depositClient.get(agent, { ...deposit, depositId: "dep_1" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect(await depositClient.list(stranger)).toEqual([]);
  });
});

describe("transfers that do not belong to the deposit", () => {
  it("holds a transfer with the reference but no memo in suspense until the operator assigns it", async () => {
    const tx = await scene.transfer(agent, { amount: AMOUNT, reference: deposit.reference });
    scene.finalize();
    const open = { limit: 1, cursor: undefined, status: "open" } as const;
    await expect
      .poll(async () => (await scene.postgres.suspense.list(open)).items[0]?.txSignature, soon)
      .toBe(tx);
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: UNASSIGNED,
      txSignature: tx,
      failure: expect.stringMatching(/memo alone, .* operator/),
    });
    expect(await scene.balance(agent)).toBe(0n);
    const { accountId } = agent;
    await scene.postgres.suspense.assign({ txSignature: tx, to: { accountId }, reason: "their deposit" });
    expect(await another.get(agent, deposit)).toMatchObject({
      state: CREDITED,
      creditedUsdcMicrousd: AMOUNT,
    });
    expect(await scene.balance(agent)).toBe(AMOUNT);
  });

  it("credits the deposit of the memo, not the deposit of the reference", async () => {
    const other = await depositClient.begin(agent);
    await scene.transfer(agent, { amount: 5n, memo: other.memo, reference: deposit.reference });
    expect(await depositClient.get(agent, deposit)).toMatchObject({
      state: UNASSIGNED,
      failure: expect.stringMatching(/names another deposit/),
    });
    scene.finalize();
    await expect
      .poll(async () => (await depositClient.get(agent, other)).creditedUsdcMicrousd, soon)
      .toBe(5n);
    expect((await another.get(agent, deposit)).creditedUsdcMicrousd).toBe(0n);
    expect(await scene.balance(agent)).toBe(5n);
  });

  it("holds a transfer that names an unknown deposit, or two, in suspense", async () => {
    const open = { limit: 2, cursor: undefined, status: "open" } as const;
    const unknown = await scene.transfer(agent, { amount: 3n, memo: `svc:dep_${"0".repeat(32)}` });
    const [memo] = paymentInstructions({
      payer: agent.wallet.publicKey.toBase58(),
      payTo: scene.payTo,
      amount: 1n,
      memo: (await depositClient.begin(agent)).memo,
    });
    const both = paymentInstructions({
      payer: agent.wallet.publicKey.toBase58(),
      payTo: scene.payTo,
      amount: 4n,
      memo: deposit.memo,
    });
    const two = await scene.send(agent, [memo!, ...both]);
    scene.finalize();
    const suspended = async () =>
      (await scene.postgres.suspense.list(open)).items.map((item) => item.txSignature);
    await expect.poll(async () => (await suspended()).toSorted(), soon).toEqual([unknown, two].toSorted());
    expect(await scene.balance(agent)).toBe(0n);
  });

  it("ignores transfers that only name the reference, and reports the deposit's own failed transfer", async () => {
    const { reference, memo } = deposit;
    const stranger = await scene.agent();
    // A stranger who found the reference on the chain.
    await scene.transfer(stranger, { amount: 10n ** 15n, reference });
    expect(await stateOf()).toBe(WAITING);
    const failed = await scene.transfer(agent, { amount: 10n ** 15n, memo, reference });
    expect(await another.get(agent, deposit)).toMatchObject({
      state: FAILED,
      txSignature: failed,
      failure: expect.stringMatching(/too little USDC/),
    });
    const good = await pay();
    const reported = await scene.depositClient().get(agent, deposit);
    expect(reported).toMatchObject({ state: CONFIRMED, txSignature: good });
    expect(reported.failure).toBeUndefined();
  });
});

describe("transfers that vanish from the chain", () => {
  it("shows a vanished transfer as awaited again and never credits it", async () => {
    const tx = await pay();
    expect(await stateOf()).toBe(CONFIRMED);
    expect(scene.chain.chain.drop(tx)).toBe(true);
    scene.finalize();
    await expect.poll(() => stateOf(), soon).toBe(WAITING);
    expect(await scene.balance(agent)).toBe(0n);
    // It may be sent again, and counts once.
    await pay();
    scene.finalize();
    await expect.poll(() => stateOf(), soon).toBe(CREDITED);
    expect(await scene.balance(agent)).toBe(AMOUNT);
  });

  it("does not credit a vanished transfer that one node called finalized", async () => {
    const tx = await pay();
    const final = {
      context: { slot: 1 },
      value: [{ slot: 1, confirmations: null, err: null, confirmationStatus: "finalized" }],
    };
    const entry = {
      signature: tx,
      slot: 1,
      err: null,
      memo: null,
      blockTime: 1,
      confirmationStatus: "finalized",
    };
    scene.chain.faults.add({ method: "getSignatureStatuses", fault: { kind: "result", result: final } });
    const ofReference = scene.depositClient();
    scene.chain.faults.add({ method: "getSignaturesForAddress", fault: { kind: "result", result: [entry] } });
    expect(await stateOf(ofReference)).toBe(FINALIZED);
    expect(await stateOf()).toBe(FINALIZED);
    expect(await scene.balance(agent)).toBe(0n);
    scene.chain.chain.drop(tx);
    scene.chain.faults.clear();
    scene.finalize();
    await expect.poll(() => stateOf(ofReference), soon).toBe(WAITING);
    expect(await scene.balance(agent)).toBe(0n);
  });
});

describe("deposits during chain outages", () => {
  it("returns the last known status, and a credit without the chain", async () => {
    await pay();
    expect(await stateOf()).toBe(CONFIRMED);
    for (const faults of [scene.chain.faults, scene.secondFaults])
      faults.add({ method: "*", fault: { kind: "http", status: 503 } });
    const before = chainLooks();
    const asked = async () => [await stateOf(), chainLooks() > before];
    await expect.poll(asked, soon).toEqual([CONFIRMED, true]);
    // For results of other instances.
    expect(await stateOf(another)).toBe(SEEN);
    expect(await stateOf(scene.depositClient())).toBe(SEEN);
  });

  it("polls the second endpoint when the first hangs, and stops a hanging poll", async () => {
    const tx = await pay();
    scene.chain.faults.add({ method: "*", fault: { kind: "hang" } });
    // A caller that disconnects ends only its own wait.
    await expect(depositClient.get(agent, deposit, AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
    expect(await depositClient.get(agent, deposit)).toMatchObject({ state: CONFIRMED, txSignature: tx });
  });

  it("keeps what a current endpoint reported when another one lags", async () => {
    await pay();
    scene.chain.faults.add({ method: "*", fault: { kind: "stale", slots: 100 } });
    expect(await stateOf()).toBe(CONFIRMED);
  });
});

it("polls the chain once a second per deposit for any number of callers", async () => {
  await scene.gateway.close();
  const [before, began] = [chainLooks(), Date.now()];
  for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 20 }, () => stateOf()));
  expect(chainLooks() - before).toBeLessThanOrEqual(2 + (Date.now() - began) / 1_000);
  scene.gateway = await scene.start();
});

it("credits a transfer finalized while no worker ran, whether or not it is polled", async () => {
  await scene.gateway.close();
  await pay();
  scene.finalize();
  // A poll credits it at once, because the watch has started.
  await expect.poll(() => stateOf(), soon).toBe(CREDITED);
  scene.gateway = await scene.start();
  const seen = (await scene.postgres.treasuryLedger.watch(scene.payTo))?.checkedAt;
  await expect
    .poll(async () => (await scene.postgres.treasuryLedger.watch(scene.payTo))?.checkedAt, soon)
    .not.toEqual(seen);
  expect(await scene.balance(agent)).toBe(AMOUNT);
});

it("allows a hundred waiting deposits a day, and more after one is credited", async () => {
  const [first] = await Promise.all(Array.from({ length: 98 }, () => depositClient.begin(agent)));
  const more = await Promise.allSettled([
    depositClient.begin(agent),
    another.begin(agent),
    depositClient.begin(agent),
  ]);
  expect(more.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  await expect(depositClient.begin(agent)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  await scene.transfer(agent, { amount: 1n, memo: first!.memo });
  scene.finalize();
  await expect.poll(() => scene.balance(agent), soon).toBe(1n);
  await depositClient.begin(agent);
  expect(await depositClient.list(agent, { limit: 100 })).toHaveLength(100);
});
