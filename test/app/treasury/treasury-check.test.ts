import { beforeEach, describe, expect, it } from "vitest";
import { TreasuryCheck } from "../../../src/app/treasury/treasury-ledger.ts";

const SECOND = 1_000;

let now: number;
let problem: TreasuryCheck;
beforeEach(() => {
  now = 1_000_000;
  problem = new TreasuryCheck({ clock: { now: () => now }, watchIntervalMs: 2_500 });
});

/** The problem for these holdings right after a run of the watch. */
const look = (held: bigint | undefined, expected: bigint) =>
  problem.problem(held, { slot: 1n, opening: 0n, expected, checkedAt: new Date(now) });

describe("TreasuryCheck", () => {
  it("returns no problem while the balance matches the ledger", () => {
    expect(look(5_000_000n, 5_000_000n)).toBeUndefined();
  });

  it("returns a difference that lasts although the watch advances", () => {
    expect(look(5_000_000n, 7_500_000n)).toBeUndefined();
    now += 9 * SECOND;
    expect(look(5_000_000n, 7_500_000n)).toBeUndefined();
    now += SECOND;
    expect(look(5_000_000n, 7_500_000n)).toBe("The treasury holds 2.500000 USDC less than the ledger says.");
    expect(look(5_000_000n, 5_000_000n)).toBeUndefined();
    expect(look(5_000_001n, 5_000_000n)).toBeUndefined();
    now += 10 * SECOND;
    expect(look(5_000_001n, 5_000_000n)).toBe("The treasury holds 0.000001 USDC more than the ledger says.");
  });

  it("returns no problem while money moves or the watch has not caught up", () => {
    for (let amount = 1n; amount < 5n; amount += 1n) {
      expect(look(amount, amount - 1n)).toBeUndefined();
      now += 20 * SECOND;
    }
    const checkedAt = new Date(now);
    const watch = { slot: 1n, opening: 0n, expected: 4n, checkedAt };
    expect(problem.problem(9n, watch)).toBeUndefined();
    now += 60 * SECOND;
    expect(problem.problem(9n, watch)).toBeUndefined();
  });

  it("returns a problem when the watch or every endpoint stops", () => {
    expect(look(undefined, 5n)).toBe("No endpoint returns the treasury's balance.");
    expect(problem.problem(5n, undefined)).toMatch(/^The treasury is not watched yet/);
    const watch = { slot: 1n, opening: 0n, expected: 5n, checkedAt: new Date(now) };
    now += 180 * SECOND;
    expect(problem.problem(5n, watch)).toBe(
      "The treasury's history was last read 3 minutes ago: payments since then are not found.",
    );
    const slow = new TreasuryCheck({ clock: { now: () => now }, watchIntervalMs: 600_000 });
    expect(slow.problem(5n, watch)).toBeUndefined();
  });
});
