import { describe, expect, it } from "vitest";
import { batchSize, beside, costAt, costThrough, freePerSecond, paidPerSecond, type Site } from "./cost-model.ts";

const site: Site = { cores: 2, commitMs: 1, instances: 1, batchesAtOnce: 2, connections: 64 };

describe("the model of what calls take", () => {
  it("finds what a call and what a batch costs from a few measurements", () => {
    const cost = costThrough([
      { batch: 1, ms: 5.1 },
      { batch: 1, ms: 4.9 },
      { batch: 4, ms: 2 },
      { batch: 20, ms: 1.2 },
    ]);
    expect(cost.fixed).toBeCloseTo(1);
    expect(cost.perBatch).toBeCloseTo(4);
    expect(costAt(cost, 8)).toBeCloseTo(1.5);
  });

  it("takes a cost that does not fall with the batch for one of the call alone", () => {
    expect(costThrough([4, 20].map((batch) => ({ batch, ms: batch / 10 })))).toEqual({ fixed: 1.2, perBatch: 0 });
    expect(costThrough([8, 8].map((batch) => ({ batch, ms: 1 })))).toEqual({ fixed: 1, perBatch: 0 });
  });

  it("has batches of one where there are few connections", () => {
    expect(batchSize(2.5, { ...site, connections: 1 })).toBe(1);
    expect(batchSize(2.5, { ...site, instances: 2, connections: 100 })).toBe(20);
  });

  it("has a lone call wait for its work and for two commits", () => {
    // 3 ms of work, and 2 of waiting for the disk.
    expect(paidPerSecond({ fixed: 1, perBatch: 2 }, 2.5, { ...site, connections: 1 })).toBeCloseTo(1000 / 5);
  });

  it("does more where batches overlap, as long as they wait for the disk", () => {
    const cost = { fixed: 0.1, perBatch: 1 };
    const slow = { ...site, commitMs: 20 };
    const doubled = paidPerSecond(cost, 2, { ...slow, batchesAtOnce: 4 }) / paidPerSecond(cost, 2, slow);
    expect(doubled).toBeGreaterThan(1.5);
    expect(doubled).toBeLessThanOrEqual(2);
  });

  it("has work last twice as long where other machines take half of the time", () => {
    const cost = { fixed: 1, perBatch: 2 };
    expect(costAt(beside(0.5, cost), 4)).toBeCloseTo(2 * costAt(cost, 4));
    expect(beside(0, cost)).toEqual(cost);
  });

  it("comes near what the cores can do with many instances, and never above", () => {
    const cost = { fixed: 1, perBatch: 0 };
    const many = paidPerSecond(cost, 1, { ...site, instances: 50, connections: 5_000 });
    expect(many).toBeLessThanOrEqual(2000);
    expect(many).toBeGreaterThan(1900);
  });

  it("is bound by the disk where a commit takes long and few calls are under way, and makes up for it with batches", () => {
    const cost = { fixed: 0.1, perBatch: 1 };
    const slow = { ...site, commitMs: 20 };
    const few = paidPerSecond(cost, 2, { ...slow, connections: 2 });
    expect(few).toBeGreaterThan(35);
    expect(few).toBeLessThan(50);
    expect(paidPerSecond(cost, 2, { ...slow, connections: 400 })).toBeGreaterThan(50 * few);
  });

  it("gives a free call one core of each gateway, and no more than all cores", () => {
    const cost = { fixed: 0.2, perBatch: 0 };
    const gateway = { fixed: 0.1, perBatch: 0 };
    const machine = { ...site, cores: 4 };
    expect(freePerSecond(cost, gateway, machine)).toBeCloseTo(10_000);
    expect(freePerSecond(cost, gateway, { ...machine, instances: 4 })).toBeCloseTo(20_000);
  });
});
