import type { Mutant } from "./mutant.ts";

const TESTS = ["test/cli/after-restore.test.ts"];
const COMMAND = "src/cli/after-restore.ts";

/** Databases that were restored from a backup. */
export const RESTORES: readonly Mutant[] = [
  {
    name: "restored-refused",
    guard: "A restored database is served only after `after-restore`.",
    file: "src/postgres/database/start-checks.ts",
    find: "if (!found || found.reconciledAt !== null) return [];",
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
  {
    name: "restored-meanwhile",
    guard: "A running gateway refuses a database that was restored meanwhile.",
    file: "src/postgres/database/primary.ts",
    find: "if (timeline > 0 && this.#clients.size === 0) await",
    replace: "if (timeline < 0) await",
    tests: TESTS,
    only: "restore",
  },
  {
    name: "restored-with-caches",
    guard: "A gateway that ran before `after-restore` needs a restart.",
    file: "src/postgres/database/primary.ts",
    find: "restored.reconciledAt === null || restored.reconciledAt > since",
    replace: "restored.reconciledAt === null",
    tests: TESTS,
    only: "restore",
  },
  {
    name: "restored-elsewhere",
    guard: "A dump in another cluster is recognised as a restore.",
    file: "src/postgres/database/restores.ts",
    find: "where cluster not in ('', $1) and $1 <> ''",
    replace: "where cluster = 'none' and $1 <> ''",
    tests: TESTS,
  },
  {
    name: "restored-credited-once",
    guard: "A payment that was credited before a restore is not credited again.",
    file: "src/postgres/database/sql/functions/treasury_record.sql",
    find: "when known.reversed then 'reinstated' else 'finalized' end",
    replace: "when known.reversed then 'reinstated' else 'credited' end",
    tests: TESTS,
  },
  {
    name: "restored-finality",
    guard: "Payments credited before they were final are final or reversed when `after-restore` ends.",
    file: "src/app/jobs/reconcile-restored.ts",
    find: "await trackToTheEnd(deps, signal);",
    replace: "",
    tests: TESTS,
  },
];
