import type { Mutant } from "./mutant.ts";

const KEYS = ["test/postgres/api-keys.test.ts"];
const RATE = ["test/postgres/rate-limiter.test.ts"];
const ACCESS = ["test/transport/access.test.ts"];
const LISTS = ["test/postgres/lists.test.ts"];

/** Who may come in, and how often. */
export const DOORS: readonly Mutant[] = [
  {
    name: "key-revoked",
    guard: "A revoked API key is nobody's.",
    file: "src/postgres/authenticator.ts",
    find: "and key.revoked_at is null",
    replace: "",
    tests: ["test/contract/tool-call-refused.test.ts"],
    only: "refuses a revoked key within a second|tells a bad key before a bad body",
  },
  {
    name: "key-revocation-heard",
    guard: "A revoked API key stops working where it is remembered.",
    file: "src/postgres/migrations/0008-key-changes.ts",
    find: "after insert or update on api_key",
    replace: "after insert on api_key",
    tests: ["test/postgres/key-memory.test.ts"],
  },
  {
    name: "key-whole",
    guard: "An API key is known by the hash of all its characters.",
    file: "src/postgres/key-hash.ts",
    find: 'hash("sha256", secret,',
    replace: 'hash("sha256", secret.slice(0, 20),',
    tests: KEYS,
    only: "stands for its account|malformed or endless",
  },
  {
    name: "rate-bucket",
    guard: "A bucket gives no more than it holds.",
    file: "src/postgres/migrations/0007-rate-buckets.ts",
    find: "(at + ask.burst * ask.period - greatest(current.tat, at)) / ask.period",
    replace: "ask.wanted",
    tests: RATE,
  },
  {
    name: "rate-refused",
    guard: "A key whose bucket is empty is refused.",
    file: "src/transport/access.ts",
    find: "if (!rate.allowed)",
    replace: "if (false)",
    tests: ACCESS,
  },
  {
    name: "operator-role",
    guard: "The operator's services are for accounts with the operator's role.",
    file: "src/transport/pipeline.ts",
    find: "if (operator && !context.caller.operator)",
    replace: "if (false)",
    tests: ["test/transport/grpc/calls.test.ts"],
    only: "the operator's services",
  },
  {
    name: "endpoint-scope",
    guard: "A key without the scope of a list does not read it.",
    file: "src/transport/pipeline.ts",
    find: "if (scope !== undefined && !context.caller.scopes.has(scope))",
    replace: "if (false)",
    tests: ["test/contract/receipts.test.ts"],
  },
  {
    name: "receipt-own",
    guard: "A receipt is shown to its account alone.",
    file: "src/postgres/receipts.ts",
    find: "where id = $1 and account_id = $2",
    replace: "where id = $1 and $2::uuid is not null",
    tests: LISTS,
  },
  {
    name: "run-own",
    guard: "A run is shown to its account alone.",
    file: "src/postgres/runs.ts",
    find: "where run.id = $1 and run.account_id = $2",
    replace: "where run.id = $1 and $2::uuid is not null",
    tests: LISTS,
  },
  {
    name: "key-alias-agrees",
    guard: "A key in the header and one in the body are the same key.",
    file: "src/transport/services/idempotency-key.ts",
    find: "if (member !== undefined && member !== header)",
    replace: "if (false)",
    tests: ["test/contract/tool-call-refused.test.ts"],
    only: "refuses different keys in header and body|refuses query parameters",
  },
];
