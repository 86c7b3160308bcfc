/** The names of all migrations, in order: what a database at the current schema has applied. Apart from them, as reading names is cheap. */
export const MIGRATION_NAMES: readonly string[] = [
  "0001-tables",
  "0002-receipts",
  "0003-judge",
  "0004-begin",
  "0005-finish",
  "0006-deposits",
  "0007-rate-buckets",
  "0008-key-changes",
  "0009-treasury",
  "0010-movements",
  "0011-corrections",
  "0012-rights",
  "0013-sandbox",
  "0014-relays",
  "0015-console",
];
