import { beforeEach, describe, expect, it } from "vitest";
import { CircuitBreaker } from "../../../src/domain/core/circuit-breaker.ts";

let now: number;
let breaker: CircuitBreaker;
beforeEach(() => {
  now = 1_000_000;
  breaker = new CircuitBreaker({ now: () => now });
});

/** One call that is admitted and fails. */
function fail(): boolean {
  expect(breaker.allow()).toBe(true);
  return breaker.failed();
}

/** Three failures in a row. */
function open(): void {
  for (let call = 0; call < 3; call++) fail();
}

describe("CircuitBreaker", () => {
  it("opens for a second at the third failure in a row", () => {
    expect([fail(), fail(), fail()]).toEqual([false, false, true]);
    expect([breaker.allow(), breaker.waitMs]).toEqual([false, 1_000]);
    now += 999;
    expect(breaker.allow()).toBe(false);
    now += 1;
    expect(breaker.allow()).toBe(true);
  });

  it("opens after the configured number of failures", () => {
    breaker = new CircuitBreaker({ now: () => now }, { failuresToOpen: 5 });
    expect([fail(), fail(), fail(), fail(), fail()]).toEqual([false, false, false, false, true]);
    expect(breaker.waitMs).toBe(1_000);
    now += 1_000;
    expect(fail()).toBe(true);
    expect(breaker.waitMs).toBe(2_000);
  });

  it("stays closed when a success comes in between", () => {
    for (let round = 0; round < 5; round++) {
      fail();
      fail();
      breaker.allow();
      expect(breaker.succeeded()).toBe(false);
    }
    expect(breaker.allow()).toBe(true);
  });

  it("allows one trial at a time and closes when it succeeds", () => {
    open();
    now += 1_000;
    expect([breaker.allow(), breaker.allow(), breaker.allow()]).toEqual([true, false, false]);
    expect(breaker.succeeded()).toBe(true);
    expect([breaker.allow(), breaker.allow()]).toEqual([true, true]);
  });

  it("allows another trial when the first was abandoned", () => {
    open();
    now += 1_000;
    expect(breaker.allow()).toBe(true);
    breaker.abandoned();
    expect(breaker.allow()).toBe(true);
  });

  it("doubles the open time after each failed trial, up to half a minute", () => {
    open();
    const waits = Array.from({ length: 7 }, () => {
      const { waitMs } = breaker;
      now += waitMs;
      fail();
      return waitMs;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it("opens once for calls that were running when it opened", () => {
    for (let call = 0; call < 50; call++) breaker.allow();
    for (let call = 0; call < 50; call++) breaker.failed();
    expect(breaker.waitMs).toBe(1_000);
  });

  it("keeps the longest requested pause and does not count it as a failure", () => {
    breaker.pause(5_000);
    breaker.pause(2_000);
    expect([breaker.allow(), breaker.waitMs]).toEqual([false, 5_000]);
    now += 5_000;
    expect([fail(), fail(), fail()]).toEqual([false, false, true]);
  });
});
