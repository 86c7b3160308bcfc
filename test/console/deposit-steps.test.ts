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

describe("stepsOf", () => {
  it.each([
    [DepositState.WAITING, ["later", "later", "later", "later"]],
    [DepositState.SEEN, ["done", "now", "later", "later"]],
    [DepositState.CONFIRMED, ["done", "done", "now", "later"]],
    [DepositState.FINALIZED, ["done", "done", "done", "now"]],
    [DepositState.CREDITED, ["done", "done", "done", "done"]],
  ])("maps deposit state %i to step states", (state, expected) => {
    expect(states(state)).toEqual(expected);
  });

  it("shows no step of a failed transaction as done", () => {
    expect(states(DepositState.FAILED)).toEqual(["failed", "later", "later", "later"]);
    expect(headline(DepositState.FAILED)).toMatch(/failed/);
    expect(depositStateLabel(DepositState.FAILED)).toEqual({ text: "Failed", kind: "bad" });
  });

  it("shows an unassigned payment as not credited", () => {
    expect(states(DepositState.UNASSIGNED)).toEqual(["done", "later", "later", "failed"]);
    expect(depositStateLabel(DepositState.UNASSIGNED).kind).toBe("warn");
  });

  it("shows no steps of a cancelled deposit, and polls it no more", () => {
    expect(states(DepositState.CANCELLED)).toEqual([]);
    expect(depositStateLabel(DepositState.CANCELLED)).toEqual({ text: "Cancelled", kind: "off" });
    expect(pollIntervalMs(DepositState.CANCELLED)).toBe(false);
    expect(isPayable(DepositState.CANCELLED)).toBe(false);
  });

  it("shows an unknown state as waiting", () => {
    expect(states(99 as never)).toEqual(["later", "later", "later", "later"]);
  });
});

describe("deposit polling", () => {
  it("polls until the deposit is credited", () => {
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

  it("offers no payment while one is pending or after credit", () => {
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

  it("polls a failed deposit because it can be paid again", () => {
    expect(pollIntervalMs(DepositState.FAILED)).toBeGreaterThan(0);
  });
});
