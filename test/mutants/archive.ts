import { type Mutant } from "./mutant.ts";

const tests = ["test/postgres/archive/archive.test.ts"];
/** What is archived although it has to stay is missing from the tests after them. */
const only = "reads the table|has to stay";

/** Guards of months that leave the database. */
export const ARCHIVE: readonly Mutant[] = [
  {
    name: "archive-verified",
    guard: "A month is dropped only if each row that was read back is that of the table.",
    file: "src/app/operations/archive/verify-month.ts",
    find: "if (column || !expected)",
    replace: "if (!expected)",
    tests,
  },
  {
    name: "archive-sealed",
    guard: "A month is archived only if its entries are those that were sealed.",
    file: "src/app/operations/archive/archive-months.ts",
    find: "await store.requireUnchanged(month);",
    replace: "",
    tests,
    only,
  },
  {
    name: "archive-seal-checked",
    guard: "A file of the archive is used only if it has the hash that was stored.",
    file: "src/archive/archive.ts",
    find: "if (hashOf(bytes) !== sha256)",
    replace: "if (false)",
    tests,
  },
  {
    name: "archive-obstacles",
    guard: "A month with something open stays in the database.",
    file: "src/app/operations/archive/archive-months.ts",
    find: "if (obstacles.length > 0) throw",
    replace: "if (false) throw",
    tests,
    only,
  },
  {
    name: "archive-rest",
    guard: "The full audit compares what is not archived with its hash.",
    file: "src/postgres/operations/seal-checks.ts",
    find: "or rest.hash <> found.hash as wrong",
    replace: "as wrong",
    tests,
  },
  {
    name: "archive-reads",
    guard: "A list that reaches an archived month contains its rows.",
    file: "src/postgres/archived/page-rows.ts",
    find: "if (months.length === 0) return undefined;",
    replace: "if (months.length >= 0) return undefined;",
    tests: ["test/postgres/archive/reading.test.ts"],
  },
];
