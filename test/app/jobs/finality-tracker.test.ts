import { beforeEach, describe, expect, it } from "vitest";
import { OPERATORS } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { runAudit, runFullAudit, reportTreasuryMetrics } from "../../../src/app/jobs/treasury-jobs.ts";
import { FinalityTracker } from "../../../src/app/jobs/finality-tracker.ts";
import type { FinalityStatus } from "../../../src/app/treasury/treasury-ledger.ts";
import { GENESIS } from "./memory-treasury.ts";
import { setScene, type Scene } from "./fixture.ts";

let scene: Scene;
let finality: FinalityTracker;
beforeEach(() => {
  scene = setScene();
  finality = new FinalityTracker(scene);
});

const run = () => finality.run(scene.signal);
const balance = () => scene.ledger.balances.get(scene.accountId);
function credit(txSignature: string, amount: bigint, standing: FinalityStatus): void {
  scene.ledger.credit(scene.accountId, { reference: txSignature, slot: 1n, amount });
  scene.chain.standing.set(txSignature, standing);
}

describe("FinalityTracker", () => {
  it.each(["vanished", "failed"] as const)(
    "reverses payments and logs an error when they %s",
    async (standing) => {
      credit("kept", 10n, "finalized");
      credit("gone", 25n, standing);
      scene.ledger.balances.set(scene.accountId, 5n); // the rest is spent
      await run();
      await run();
      expect(balance()).toBe(-20n);
      expect(scene.metrics.values.get("payments_reversed_total")).toBe(1);
      expect(scene.log.lines).toEqual([
        {
          level: "error",
          message: expect.stringContaining("reversed"),
          details: {
            network: "solana-mainnet",
            tx_signature: "gone",
            account: scene.accountId,
            amount_usdc: "0.000025",
            balance_usdc: "-0.000020",
          },
        },
      ]);
    },
  );

  it("reports a payment of another amount once and does not change it", async () => {
    credit("odd", 25n, "different");
    await run();
    await run();
    expect(balance()).toBe(25n);
    expect(scene.metrics.values.get("payments_mismatched_total")).toBe(1);
    expect(scene.log.of("error")).toHaveLength(1);
  });

  it("decides the other payments when some have no outcome", async () => {
    for (let n = 0; n < 600; n++) credit(`pending${n}`, 1n, "pending");
    credit("gone", 25n, "vanished");
    await run();
    expect(balance()).toBe(600n);
    for (let n = 0; n < 600; n++) scene.chain.standing.set(`pending${n}`, "finalized");
    await run();
    expect(scene.metrics.values.get("payments_finalized_total")).toBe(600);
  });
});

describe("runAudit", () => {
  it("sets a metric per invariant, logs a violation as an error and notifies operators", async () => {
    const finding = (name: string, violations: bigint) => ({
      name,
      description: `${name} holds`,
      checked: 9n,
      violations,
    });
    const findings = [finding("balances", 2n), finding("receipts", 0n)];
    const fullAudit = fullAuditOf({ receipts: 0, balances: 1, seals: 3 });
    await runAudit({ ...scene, fullAudit, audit: async () => findings }, scene.signal);
    expect(Object.fromEntries(scene.metrics.values)).toEqual({
      "audit_violations balances": 2,
      "audit_violations receipts": 0,
      // Until the next audit of all history finds it no more.
      "audit_violations seals": 3,
      audit_timestamp_seconds: (GENESIS + 2_000_000) / 1_000,
    });
    expect(scene.log.lines).toEqual([
      {
        level: "error",
        message: "the audit found a violation: balances holds",
        details: { invariant: "balances", violations: 2 },
      },
    ]);
    const data = { invariant: "balances", description: "balances holds", violations: 2 };
    expect(scene.added).toEqual([[OPERATORS, "audit.violation", JSON.stringify(data), "balances"]]);
  });
});

describe("runFullAudit", () => {
  it("reports what a slice of the audit of all history finds, and when the last one ended", async () => {
    const found = { name: "seals", description: "sealed", checked: 1n, violations: 3n };
    const fullAudit = { ...fullAuditOf({}), next: async () => found };
    const audit = async () => [];
    await runFullAudit({ ...scene, fullAudit, audit }, scene.signal);
    expect(scene.metrics.values.get("full_audit_timestamp_seconds")).toBe(GENESIS / 1_000);
    const data = { invariant: "seals", description: "sealed", violations: 3 };
    expect(scene.added).toEqual([[OPERATORS, "audit.violation", JSON.stringify(data), "seals"]]);
  });
});

/** An audit of all history that ended with these violations, and is not due. */
function fullAuditOf(violations: Record<string, number>) {
  return { next: async () => undefined, last: async () => ({ at: new Date(GENESIS), violations }) };
}

describe("treasury metrics", () => {
  it("reports the age of the watch since the installation, and the transfers in suspense", async () => {
    await reportTreasuryMetrics(scene, scene.signal);
    expect(scene.metrics.values.get("watch_age_seconds")).toBe(1_000);
    await scene.ledger.startWatch("treasury", { amount: 0n, slot: 0n });
    await scene.ledger.record("treasury", {
      txSignature: "a",
      slot: 1n,
      blockTime: new Date(),
      change: 7n,
      memo: undefined,
      memos: undefined,
      payer: undefined,
      attribution: undefined,
    });
    await reportTreasuryMetrics(scene, scene.signal);
    expect(Object.fromEntries(scene.metrics.values)).toEqual({
      watch_age_seconds: 1_000,
      suspense_transfers: 1,
      suspense_microusd: 7,
    });
  });
});
