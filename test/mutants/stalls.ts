import { sqlFile, type Mutant } from "./mutant.ts";

const STALL = ["test/postgres/ledger/stalled-instance.test.ts"];

/** Instances that stand still, and outages of the database. */
export const STALLS: readonly Mutant[] = [
  {
    name: "stall-survived",
    guard: "A stalled instance keeps its runs for a while.",
    file: sqlFile("functions/ledger_sweep.sql"),
    find: "when owner = any (connected) then lease_until < now() - stall",
    replace: "when owner = any (connected) then true",
    tests: STALL,
  },
  {
    name: "stall-bounded",
    guard: "A stalled instance does not keep its runs forever.",
    file: sqlFile("functions/ledger_sweep.sql"),
    find: "when owner = any (connected) then lease_until < now() - stall",
    replace: "when owner = any (connected) then false",
    tests: STALL,
  },
  {
    name: "stall-own-sweep",
    guard: "An instance that resumes does not release runs it still executes.",
    file: sqlFile("functions/ledger_sweep.sql"),
    find: "when owner = sweeper then id <> all (kept)",
    replace: "when owner = sweeper then true",
    tests: STALL,
  },
  {
    name: "stall-session",
    guard: "The database session of an instance holds its lock.",
    file: "src/postgres/ledger/session-lock.ts",
    find: "select pg_advisory_lock_shared(hashtextextended($1::uuid::text, 0))",
    replace: "select hashtextextended($1::uuid::text, 0)",
    tests: STALL,
  },
  {
    name: "stall-at-authorize",
    guard: "A run that is authorized during a stall is kept.",
    file: "src/postgres/ledger/ledger.ts",
    find: "leases.add(run);",
    replace: "",
    tests: STALL,
    only: "has its lease renewed before it starts|charged once",
  },
  {
    name: "outage-own-patience",
    guard: "Each call waits its full time in an outage, however late it arrives.",
    file: "src/postgres/database/batcher.ts",
    find: "const due = loopTime() + DEADLINE_SLACK_MS;",
    replace: "const due = Infinity;",
    tests: ["test/postgres/database/batcher.test.ts"],
  },
];
