import { sqlFile, type Mutant } from "./mutant.ts";

const tests = ["test/postgres/operations/seals.test.ts"];

/** Guards of what audits no longer read. */
export const SEALS: readonly Mutant[] = [
  {
    name: "seal-clean",
    guard: "Only what an audit found without a violation is sealed.",
    file: "src/postgres/operations/audit.ts",
    find: "clean && upTo !== undefined",
    replace: "upTo !== undefined",
    tests,
  },
  {
    name: "seal-read-again",
    guard: "A seal covers exactly the entries that were audited.",
    file: sqlFile("functions/audit_seal_add.sql"),
    find: "or row(entries, hash) is distinct from",
    replace: "or false and row(entries, hash) is distinct from",
    tests,
  },
  {
    name: "seal-settled",
    guard: "What may still change is not sealed.",
    file: sqlFile("functions/audit_seal_add.sql"),
    find: "or up_to > now() - interval '1 minute'",
    replace: "",
    tests,
  },
  {
    name: "seal-once",
    guard: "Of two audits at the same time, one seals.",
    file: sqlFile("functions/audit_seal_add.sql"),
    find: "if not found then return false; end if;",
    replace: "",
    tests,
  },
  {
    name: "seal-checked",
    guard: "An audit of all history compares it with each seal.",
    file: "src/postgres/operations/seal-checks.ts",
    find: "or seal.hash <> sha256(coalesce(earlier.hash, ''::bytea) || found.hash)",
    replace: "",
    tests,
  },
  {
    name: "seal-sums-read",
    guard: "Balances are compared with sealed sums and the entries since.",
    file: "src/postgres/operations/audit-sources.ts",
    find: "select * from audit_sum union all select * from audit_sums($1, null)",
    replace: "select * from audit_sums(null, null)",
    tests,
  },
];
