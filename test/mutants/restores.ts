import type { Mutant } from "./mutant.ts";

const TESTS = ["test/cli/after-restore.test.ts"];
const COMMAND = "src/cli/after-restore.ts";

/** Databases that were restored from a backup. */
export const RESTORES: readonly Mutant[] = [
  {
    name: "restored-refused",
    guard: "A restored database is served only after `after-restore`.",
    file: "src/postgres/database/start-checks.ts",
    find: "if (!found || found.reconciled) return [];",
    replace: "if (!found || found.mark) return [];",
    tests: TESTS,
  },
  {
    name: "restored-each-time",
    guard: "Each restore needs its own `after-restore`.",
    file: "src/postgres/database/restores.ts",
    find: "where action = 'database.reconcile' and target = mark",
    replace: "where action = 'database.reconcile'",
    tests: TESTS,
  },
  {
    name: "restored-alone",
    guard: "No gateway runs during `after-restore`.",
    file: COMMAND,
    find: "if (waitedMs >= RESTORED_LEASE_MS)",
    replace: "if (waitedMs >= RESTORED_LEASE_MS) return;\n    else if (waitedMs < 0)",
    tests: TESTS,
  },
  {
    name: "restored-keys",
    guard: "Keys that the operator log knows as revoked are revoked again.",
    file: COMMAND,
    find: "(used < since && !revoked.has(keyId))",
    replace: "used < since",
    tests: TESTS,
  },
  {
    name: "restored-difference",
    guard: "A restored ledger that differs from the chain is not served.",
    file: COMMAND,
    find: "if (difference !== 0n && !options.acceptDifference)",
    replace: "if (difference !== 0n && options.json === undefined)",
    tests: TESTS,
  },
];
