import type { Mutant } from "./mutant.ts";

const tests = ["test/postgres/accounts/usage-counter.test.ts"];

/** Guards of what charts and revenue reports read. */
export const USAGE: readonly Mutant[] = [
  {
    name: "usage-once",
    guard: "Of several instances that count the same calls, one does.",
    file: "src/postgres/accounts/usage-counter.ts",
    find: "where counted_to = coalesce($4::timestamptz, '-infinity') returning 1",
    replace: "where $4::timestamptz is null or true returning 1",
    tests,
  },
  {
    name: "usage-settled",
    guard: "Calls are not counted while a run among them may still fail.",
    file: "src/postgres/accounts/usage-counter.ts",
    find: "Math.min(now.getTime() - SETTLED_MS, activeAt?.getTime() ?? Infinity)",
    replace: "Math.min(now.getTime() - SETTLED_MS, Infinity)",
    tests,
  },
  {
    name: "usage-cost",
    guard: "A margin is stated of calls whose cost is known, never of others.",
    file: "src/postgres/accounts/usage-sql.ts",
    find: "coalesce(sum(amount) filter (where cost is not null), 0)::bigint as costed",
    replace: "coalesce(sum(amount), 0)::bigint as costed",
    tests,
  },
];
