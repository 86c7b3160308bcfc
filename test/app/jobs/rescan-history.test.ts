import { beforeEach, describe, expect, it } from "vitest";
import { Reconciliation, rescanHistory, watchTreasury } from "../../../src/app/jobs/reconciliation.ts";
import { GENESIS } from "./memory-treasury.ts";
import { setScene, type Scene } from "./fixture.ts";

const HOUR_MS = 3_600_000;
let scene: Scene;
beforeEach(async () => {
  scene = setScene();
  scene.chain.endpoints = 2;
  scene.chain.land("start", 5n, { slot: 1_000n });
  await watchTreasury(scene, scene.signal);
});

/** Has the first endpoint leave transactions out. */
const leaveOut = (...signatures: string[]) => scene.chain.leftOut.set(0, new Set(signatures));
const rescan = () => rescanHistory(scene, { firstEndpoint: 1, windowMs: HOUR_MS }, scene.signal);
const lines = (level: string) => scene.log.lines.filter((line) => line.level === level);

describe("rescanHistory", () => {
  it("logs nothing about transactions too young for the watch, and logs older ones", async () => {
    leaveOut("young", "old");
    scene.chain.land("young", 100n, { memo: scene.memo(), slot: 1_990n });
    expect(await rescan()).toHaveLength(1);
    expect(lines("warn")).toHaveLength(1); // of the first transaction, in suspense
    scene.chain.land("old", 100n, { memo: scene.memo(), slot: 1_991n });
    scene.clock.at = GENESIS + 1_991_000 + 30_001;
    expect(await rescan()).toHaveLength(1);
    expect(lines("warn").at(-1)?.details).toMatchObject({ tx_signatures: ["old"] });
  });

  it("reads only its window, and nothing before the start of the watch", async () => {
    scene.clock.at = GENESIS + 2 * HOUR_MS;
    await rescan();
    expect(scene.chain.asked.at(-1)?.fromTime.getTime()).toBe(GENESIS + HOUR_MS);
    await rescanHistory(scene, { firstEndpoint: 1 }, scene.signal);
    expect(scene.chain.asked.at(-1)?.fromTime.getTime()).toBe(GENESIS + 700_000);
  });

  it("waits for the start of the watch", async () => {
    const fresh = setScene();
    fresh.chain.land("a", 1n);
    expect(await rescanHistory(fresh, { firstEndpoint: 1 }, fresh.signal)).toEqual([]);
    expect(fresh.chain.asked).toEqual([]);
  });
});

describe("Reconciliation", () => {
  let reconciliation: Reconciliation;
  beforeEach(() => {
    reconciliation = new Reconciliation(scene);
  });
  const run = () => reconciliation.run(scene.signal);
  const gauge = () => scene.metrics.values.get("treasury_difference_microusd");
  /** Money that no endpoint reports. */
  const hide = (signature: string, change: bigint) => {
    for (const endpoint of [0, 1]) {
      scene.chain.leftOut.set(endpoint, (scene.chain.leftOut.get(endpoint) ?? new Set()).add(signature));
    }
    scene.chain.land(signature, change, { slot: 1_001n });
  };

  it("reports nothing while money moves", async () => {
    scene.chain.land("b", 1n);
    expect(await run()).toBeUndefined();
    expect(await run()).toBe(0n);
  });

  it("reports a lasting difference once, again when it changes, and when it is gone", async () => {
    hide("hidden", 70n);
    expect(await run()).toBe(70n);
    expect(gauge()).toBe(70);
    await run();
    expect(lines("error")).toEqual([]);
    for (let n = 0; n < 4; n++) await run();
    expect(lines("error").map(({ details }) => details)).toEqual([{ difference_usdc: "0.000070" }]);
    hide("more", -20n);
    await run();
    expect(lines("error").at(-1)?.details).toEqual({ difference_usdc: "0.000050" });
    scene.chain.leftOut.clear();
    expect(await run()).toBeUndefined();
    expect(await run()).toBe(0n);
    expect(gauge()).toBe(0);
    expect(lines("info").at(-1)?.message).toBe("treasury balance matches the ledger");
    expect(scene.added.map(([, ...event]) => event)).toEqual([
      ["treasury.difference", '{"difference_usdc_microusd":70}', "70"],
      ["treasury.difference", '{"difference_usdc_microusd":50}', "50"],
    ]);
  });

  it("reports no difference that disappears", async () => {
    for (let n = 0; n < 4; n++) {
      hide(`hidden${n}`, 70n);
      await run();
      await run();
      scene.chain.leftOut.clear();
      await run();
      await run();
    }
    expect(lines("error")).toEqual([]);
  });

  it("rereads the whole history from another endpoint once an hour and finds what the first one omits", async () => {
    const whole = () =>
      scene.chain.asked.filter(({ fromSlot, firstEndpoint }) => fromSlot === 0n && firstEndpoint > 0);
    leaveOut("lost");
    scene.chain.land("lost", 100n, { memo: scene.memo(), slot: 1_001n });
    // It was believed to be settled, or there would have been no difference for long.
    scene.settled.set("lost", true);
    for (let n = 0; n < 3; n++) expect(await run()).toBe(100n);
    expect(whole()).toHaveLength(1);
    expect(scene.ledger.balances.get(scene.accountId)).toBe(100n);
    expect(await run()).toBe(0n);

    hide("hidden", 70n);
    for (let n = 0; n < 5; n++) await run();
    expect(whole()).toHaveLength(1);
    scene.clock.at += HOUR_MS;
    for (let n = 0; n < 5; n++) await run();
    expect(whole().map(({ firstEndpoint }) => firstEndpoint)).toEqual([1, 2]);
  });
});
