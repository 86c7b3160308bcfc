import { describe, expect, it } from "vitest";
import { DepositState } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import {
  headline,
  isPayable,
  pollIntervalMs,
  depositStateLabel,
  stepsOf,
} from "../../src/console/pages/deposit/steps.ts";

const states = (state: DepositState) => stepsOf(state).map((step) => step.state);

describe("the steps of a deposit", () => {
  it.each([
    [DepositState.WAITING, ["now", "later", "later", "later"]],
    [DepositState.SEEN, ["done", "now", "later", "later"]],
    [DepositState.CONFIRMED, ["done", "done", "now", "later"]],
    [DepositState.FINALIZED, ["done", "done", "done", "now"]],
    [DepositState.CREDITED, ["done", "done", "done", "done"]],
  ])("of state %i are as far as the chain and no further", (state, expected) => {
    expect(states(state)).toEqual(expected);
  });

  it("never show a transaction that failed as done", () => {
    expect(states(DepositState.FAILED)).toEqual(["failed", "later", "later", "later"]);
    expect(headline(DepositState.FAILED)).toMatch(/failed/);
    expect(depositStateLabel(DepositState.FAILED)).toEqual({ word: "failed", kind: "bad" });
  });

  it("never show a payment that does not name the deposit as credited to it", () => {
    expect(states(DepositState.UNASSIGNED)).toEqual(["done", "later", "later", "failed"]);
    expect(depositStateLabel(DepositState.UNASSIGNED).kind).toBe("warn");
  });

  it("show a state that the page does not know as waiting", () => {
    expect(states(99 as never)).toEqual(["now", "later", "later", "later"]);
  });
});

describe("a deposit that is looked at", () => {
  it("is looked at again until it is credited", () => {
    expect(pollIntervalMs(DepositState.CREDITED)).toBe(false);
    for (const state of [
      DepositState.WAITING,
      DepositState.SEEN,
      DepositState.CONFIRMED,
      DepositState.FINALIZED,
    ]) {
      expect(pollIntervalMs(state)).toBeGreaterThan(0);
    }
  });

  it("is not to be paid again while a payment is on its way, nor once it is credited", () => {
    for (const state of [
      DepositState.SEEN,
      DepositState.CONFIRMED,
      DepositState.FINALIZED,
      DepositState.CREDITED,
    ]) {
      expect(isPayable(state)).toBe(false);
    }
    for (const state of [DepositState.WAITING, DepositState.FAILED]) expect(isPayable(state)).toBe(true);
  });

  it("is looked at again after it failed: another transaction may follow", () => {
    expect(pollIntervalMs(DepositState.FAILED)).toBeGreaterThan(0);
  });
});
