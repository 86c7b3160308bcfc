import { auditDatabase } from "../../src/postgres/operations/audit-database.ts";
import { fillLedger } from "../postgres/large-ledger.ts";
import type { Bench } from "./bench.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

/** Limit for the audit of a million transfers, seconds. */
const ALLOWANCE_S = 30;

/** Measures a full audit of a freshly filled ledger without planner statistics. */
export async function auditOfLedger({ world, plan, scale, signal }: Bench): Promise<Line[]> {
  const url = await world.createDatabase("audited");
  await fillLedger(url, scale.transfers);
  const took: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const began = performance.now();
    const lines = await auditDatabase(url, signal);
    took.push((performance.now() - began) / 1000);
    const violated = lines.filter(({ violations }) => violations > 0n);
    if (violated.length > 0)
      throw new Error(`the audit found violations: ${violated.map(({ name }) => name).join(", ")}`);
  }
  const seconds = median(took) ?? Number.NaN;
  return [
    {
      measure: `audit of ${scale.transfers} transfers`,
      gateway: `${seconds.toFixed(2)} s`,
      peer: `${ALLOWANCE_S} s`,
      value: seconds / ALLOWANCE_S,
      bar: { atMost: 1 },
    },
  ];
}
