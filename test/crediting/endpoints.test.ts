import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Faults } from "../../src/localchain/faults.ts";
import type { Json } from "../../src/localchain/json.ts";
import { memoOf, type Agent } from "../support/world.ts";
import { setScene, soon, type Scene, type Watching } from "./fixture.ts";

/** Nodes that omit transactions from their history. */
const HISTORY = "getSignaturesForAddress";
let scene: Scene;
let gateway: Watching;
let agent: Agent;
beforeAll(async () => {
  scene = await setScene();
  gateway = await scene.start();
  await vi.waitUntil(() => scene.postgres.treasuryLedger.watch(scene.payTo), { timeout: 60_000 });
});
beforeEach(async () => {
  agent = await scene.agent();
});
afterEach(async () => {
  for (const faults of [scene.chain.faults, scene.secondFaults]) faults.clear();
  expect(await scene.violations()).toEqual([]);
});
afterAll(() => scene.close());

const balance = () => scene.postgres.ledger.balance(agent.accountId);
const errors = () => gateway.log.filter(({ level }) => level === 50);
const leftOut = () => gateway.log.filter(({ msg }) => msg.includes("omits transactions of the treasury"));

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
    const quote = await gateway.quote(agent);
    prints(scene.chain.faults, []);
    await scene.pay(agent, 400n, memoOf(quote));
    scene.finalize();
    await expect.poll(balance, soon).toBe(400n);
  });

  it("credits a payment that the first endpoint has lost", async () => {
    const quote = await gateway.quote(agent);
    prints(scene.chain.faults, await history());
    const lost = await scene.pay(agent, 400n, memoOf(quote));
    scene.chain.chain.advance();
    const reported = await scene.pay(agent, 30n, memoOf(quote));
    scene.finalize();
    prints(
      scene.chain.faults,
      (await history()).filter(({ signature }) => signature !== lost),
    );
    await expect.poll(balance, soon).toBe(430n);
    await expect
      .poll(() => scene.postgres.treasuryLedger.unrecorded(scene.payTo, [lost, reported]), soon)
      .toEqual([]);
  });
});

it("logs that the first endpoint omits recorded transactions", async () => {
  const quote = await gateway.quote(agent);
  await gateway.close();
  prints(scene.chain.faults, await history());
  const lost = await scene.pay(agent, 400n, memoOf(quote));
  scene.chain.chain.advance();
  await scene.pay(agent, 30n, memoOf(quote));
  scene.finalize();
  const without = (await history()).filter(({ signature }) => signature !== lost);
  prints(scene.chain.faults, without);
  gateway = await scene.start();
  await expect.poll(balance, soon).toBe(430n);
  await expect
    .poll(leftOut, soon)
    .toMatchObject([{ level: 40, tx_signatures: [lost], found_at_endpoint: 2, endpoints: 2 }]);
});

it("logs a lasting difference between chain and ledger, and its end", async () => {
  const quote = await gateway.quote(agent);
  const known = await history();
  prints(scene.chain.faults, known);
  prints(scene.secondFaults, known);
  await scene.pay(agent, 55n, memoOf(quote));
  scene.finalize();
  await expect.poll(() => gateway.figure("toolgate_treasury_difference_microusd"), soon).toBe(55);
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
  await expect.poll(() => gateway.figure("toolgate_treasury_difference_microusd"), soon).toBe(0);
  await expect
    .poll(() => gateway.log.map(({ msg }) => msg), soon)
    .toContain("treasury balance matches the ledger");
});

it("keeps working while one endpoint is down, and logs once when all are", async () => {
  const quote = await gateway.quote(agent);
  scene.chain.faults.add({ method: "*", fault: { kind: "http", status: 503 } });
  await scene.pay(agent, 70n, memoOf(quote)).catch(() => {});
  scene.chain.faults.clear();
  scene.secondFaults.add({ method: "*", fault: { kind: "http", status: 503 } });
  await scene.pay(agent, 7n, memoOf(quote));
  scene.finalize();
  await expect.poll(balance, soon).toBe(7n);
  scene.chain.faults.add({ method: "*", fault: { kind: "http", status: 503 } });
  const failures = () => gateway.figure("toolgate_keeper_failures_total", '{work="watch"}');
  await expect.poll(failures, soon).toBeGreaterThan(3);
  // A run during the change of endpoints may have found neither and logged that.
  const reported = () => gateway.log.filter(({ work }) => work === "watch").map(({ msg }) => msg);
  const [failed, again] = ["treasury job failed, retrying", "treasury job recovered"];
  expect(reported().at(-1)).toBe(failed);
  expect(reported()).toEqual(reported().map((_, nth) => (nth % 2 === 0 ? failed : again)));
  scene.chain.faults.clear();
  scene.secondFaults.clear();
  await expect.poll(() => reported().at(-1), soon).toBe(again);
});
