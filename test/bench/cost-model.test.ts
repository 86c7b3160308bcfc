import { describe, expect, it } from "vitest";
import {
  batchSize,
  withStolenTime,
  costAt,
  costThrough,
  freePerSecond,
  paidPerSecond,
  type Costs,
  type Site,
} from "./cost-model.ts";

/** A cost, half of it in the gateway. */
function half(fixed: number, perBatch: number): Costs {
  return { all: { fixed, perBatch }, gateway: { fixed: fixed / 2, perBatch: perBatch / 2 } };
}

const site: Site = { cores: 2, commitMs: 1, instances: 1, batchesAtOnce: 2, connections: 64 };

describe("the model of call costs", () => {
  it("derives the cost of a call and of a batch from a few measurements", () => {
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

  it("attributes a cost that does not fall with the batch size to the call", () => {
    expect(costThrough([4, 20].map((batch) => ({ batch, ms: batch / 10 })))).toEqual({
      fixed: 1.2,
      perBatch: 0,
    });
    expect(costThrough([8, 8].map((batch) => ({ batch, ms: 1 })))).toEqual({ fixed: 1, perBatch: 0 });
  });

  it("uses batches of one for few connections", () => {
    expect(batchSize(2.5, { ...site, connections: 1 })).toBe(1);
    expect(batchSize(2.5, { ...site, instances: 2, connections: 100 })).toBe(20);
  });

  it("counts the work and two commits for a single call", () => {
    // 3 ms of work, and 2 of waiting for the disk.
    expect(paidPerSecond(half(1, 2), 2.5, { ...site, connections: 1 })).toBeCloseTo(1000 / 5);
  });

  it("increases throughput when batches overlap while waiting for the disk", () => {
    const costs = half(0.1, 1);
    const slow = { ...site, commitMs: 20 };
    const doubled = paidPerSecond(costs, 2, { ...slow, batchesAtOnce: 4 }) / paidPerSecond(costs, 2, slow);
    expect(doubled).toBeGreaterThan(1.5);
    expect(doubled).toBeLessThanOrEqual(2);
  });

  it("doubles the duration of work when other machines use half of the time", () => {
    const costs = half(1, 2);
    expect(withStolenTime(0.5, costs)).toEqual(half(2, 4));
    expect(withStolenTime(0, costs)).toEqual(costs);
  });

  it("approaches the limit of the cores with many instances and never exceeds it", () => {
    const many = paidPerSecond(half(1, 0), 1, { ...site, instances: 50, connections: 5_000 });
    expect(many).toBeLessThanOrEqual(2000);
    expect(many).toBeGreaterThan(1900);
  });

  it("runs one batch per instance at a time, while other cores run other batches", () => {
    const twice = paidPerSecond(half(1, 0), 1, { ...site, commitMs: 0, batchesAtOnce: 2 });
    // Two batches, two stations that ask the same of them: each is idle for a third of the time.
    expect(twice).toBeCloseTo((2 / 3) * 2000);
    // The gateway's half of a call, whatever there is of cores and batches.
    const much = paidPerSecond(half(1, 0), 1, { ...site, cores: 64, batchesAtOnce: 50 });
    expect(much).toBeLessThanOrEqual(2000);
    expect(much).toBeGreaterThan(1900);
  });

  it("is disk-bound with slow commits and few calls, and compensates with batches", () => {
    const costs = half(0.1, 1);
    const slow = { ...site, commitMs: 20 };
    const few = paidPerSecond(costs, 2, { ...slow, connections: 2 });
    expect(few).toBeGreaterThan(35);
    expect(few).toBeLessThan(50);
    expect(paidPerSecond(costs, 2, { ...slow, connections: 400 })).toBeGreaterThan(50 * few);
  });

  it("gives a free call one core per gateway, up to all cores", () => {
    const machine = { ...site, cores: 4 };
    expect(freePerSecond(half(0.2, 0), machine)).toBeCloseTo(10_000);
    expect(freePerSecond(half(0.2, 0), { ...machine, instances: 4 })).toBeCloseTo(20_000);
  });
});
