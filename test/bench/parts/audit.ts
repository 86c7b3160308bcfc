import { withAuditPool } from "../../../src/postgres/operations/audit-snapshot.ts";
import { auditSince } from "../../../src/postgres/operations/audit.ts";
import { fillLedger } from "../../postgres/large-ledger.ts";
import type { Part } from "../bench.ts";
import { median } from "../measure.ts";

/** A full audit of a freshly filled ledger without planner statistics. */
export const audit: Part = {
  name: "audit",
  title: "14. audit",
  why: "Operators and accountants: whether every run can be checked in full",
  async run({ world, plan, signal }) {
    const transfers = plan.quick ? 5_000 : 1_000_000;
    const url = await world.createDatabase("audited");
    await fillLedger(url, transfers);
    const took: number[] = [];
    for (let round = 0; round < plan.rounds; round++) {
      const began = performance.now();
      const scope = { signal, whole: true };
      const { findings } = await withAuditPool(url, (pool) => auditSince(pool, scope));
      took.push((performance.now() - began) / 1000);
      const violated = findings.filter(({ violations }) => violations > 0n);
      if (violated.length > 0)
        throw new Error(`the audit found violations: ${violated.map(({ name }) => name).join(", ")}`);
    }
    const measure = `${transfers.toLocaleString("en")} transfers`;
    return [{ measure, gateway: `${(median(took) ?? Number.NaN).toFixed(2)} s`, peer: "" }];
  },
};
