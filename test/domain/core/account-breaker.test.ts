import { beforeEach, describe, expect, it } from "vitest";
import { AccountBreaker } from "../../../src/domain/core/circuit-breaker.ts";

let now: number;
let breaker: AccountBreaker;
beforeEach(() => {
  now = 0;
  breaker = new AccountBreaker({ now: () => now });
});

/** Calls that are admitted and fail. @returns how many were admitted */
function fail(accountId: string, calls: number): number {
  let admitted = 0;
  for (let call = 0; call < calls; call++) {
    if (!breaker.allow(accountId)) continue;
    admitted += 1;
    breaker.failed(accountId);
  }
  return admitted;
}

describe("AccountBreaker", () => {
  it("blocks only the account that met five faults in a row", () => {
    expect(fail("a", 100)).toBe(5);
    expect([breaker.allow("a"), breaker.allow("b"), breaker.waitMs("b")]).toEqual([false, true, 0]);
  });

  it("blocks no other account when one fails often, also while the server recovers", () => {
    fail("b", 1);
    fail("c", 1);
    expect(fail("a", 1), "the third account opens it").toBe(1);
    expect(breaker.allow("d")).toBe(false);
    let others = 0;
    for (let second = 0; second < 600; second++) {
      now += 1_000;
      fail("a", 10);
      if (!breaker.allow("d")) continue;
      others += 1;
      breaker.abandoned("d");
    }
    expect(others).toBeGreaterThan(590);
  });

  it("blocks all accounts when three in a row meet a fault, until one succeeds", () => {
    for (const account of ["a", "b", "c"]) fail(account, 1);
    expect([breaker.allow("d"), breaker.waitMs("d")]).toEqual([false, 1_000]);
    now += 1_000;
    expect(breaker.allow("d")).toBe(true);
    expect(breaker.allow("e"), "one trial at a time").toBe(false);
    expect(breaker.succeeded("d")).toBe(true);
    expect(breaker.allow("e")).toBe(true);
  });

  it("resets the count of faults after a success", () => {
    fail("a", 1);
    fail("b", 1);
    breaker.succeeded("z");
    fail("c", 1);
    expect(breaker.allow("d")).toBe(true);
  });

  it("blocks all accounts after three failed connections in a row", () => {
    for (let call = 0; call < 3; call++) breaker.unreachable("a");
    expect(breaker.allow("b")).toBe(false);
  });

  it("waits at most five seconds for a trial without an outcome", () => {
    for (let call = 0; call < 3; call++) breaker.unreachable("a");
    now += 1_000;
    expect([breaker.allow("a"), breaker.allow("b")]).toEqual([true, false]);
    now += 5_000;
    expect(breaker.allow("b")).toBe(true);
  });
});
