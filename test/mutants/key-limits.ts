import { sqlFile, type Mutant } from "./mutant.ts";

const API_KEYS = "src/postgres/accounts/api-keys.ts";
const DAY = ["test/postgres/accounts/day-limits.test.ts"];
const KEYS = ["test/postgres/accounts/limited-keys.test.ts"];
const REFUSED_CALLS = ["test/contract/tool-call-refused.test.ts"];

/** Limited, replaced and blocked keys. */
export const KEY_LIMITS: readonly Mutant[] = [
  {
    name: "key-day-limit",
    guard: "A key spends no more per day than its limit.",
    file: sqlFile("functions/ledger_grant.sql"),
    find: "if budget_spent + item.price > item.day_limit then",
    replace: "if false then",
    tests: DAY,
  },
  {
    name: "key-day-batch",
    guard: "Calls of one batch count against each other's daily limit.",
    file: sqlFile("functions/ledger_grant.sql"),
    find: "spent := spent || jsonb_build_object(item.budget_id, budget_spent + item.price);",
    replace: "null;",
    tests: DAY,
  },
  {
    name: "key-day-kept",
    guard: "Spending of a day is added to what was spent before.",
    file: sqlFile("functions/ledger_hold.sql"),
    find: "do update set spent = budget.spent + excluded.spent",
    replace: "do update set spent = excluded.spent",
    tests: DAY,
  },
  {
    name: "key-day-before-quote",
    guard: "A key over its daily limit gets no quote even with insufficient funds.",
    file: sqlFile("functions/ledger_decide.sql"),
    find: "when item.spent + item.price > item.day_limit then 'capped'",
    replace: "when false then 'capped'",
    tests: DAY,
  },
  {
    name: "key-day-short-account",
    guard: "Insufficient funds do not hide a key's daily limit.",
    file: "src/postgres/ledger/insufficient-funds.ts",
    find: "budget || claimKey",
    replace: "claimKey",
    tests: DAY,
  },
  {
    name: "key-day-released",
    guard: "A released hold returns to the key's day.",
    file: sqlFile("functions/ledger_return.sql"),
    find: "set spent = budget.spent - item.amount",
    replace: "set spent = budget.spent - 0 * item.amount",
    tests: DAY,
  },
  {
    name: "key-day-of-start",
    guard: "A released hold returns to the day on which its call started.",
    file: sqlFile("functions/ledger_return.sql"),
    find: "(run.started_at at time zone 'utc')::date as day",
    replace: "(now() at time zone 'utc')::date as day",
    tests: DAY,
  },
  {
    name: "key-day-fast-path",
    guard: "A call with a daily limit does not take the fast path.",
    file: "src/postgres/ledger/start-and-capture.ts",
    find: "(budget === undefined || price === 0n)",
    replace: "(budget === undefined || true)",
    tests: DAY,
  },
  {
    name: "key-day-proof",
    guard: "A call with a payment is not counted against the daily limit.",
    file: "src/postgres/ledger/records.ts",
    find: "call.budget && !payment && ",
    replace: "call.budget && ",
    tests: DAY,
  },
  {
    name: "key-tools",
    guard: "A key calls only its allowed tools.",
    file: "src/app/calls/key-limits.ts",
    find: "if (!allowsTool(caller, name)) {",
    replace: "if (!allowsTool(caller, name) && name === undefined) {",
    tests: REFUSED_CALLS,
    only:
      "name the allowed tools, also for free ones, before the params are chec|reports a bad key before " +
      "a bad body",
  },
  {
    name: "key-call-limit",
    guard: "A call costs no more than its key's limit, however it is paid.",
    file: "src/app/calls/key-limits.ts",
    find: "|| price <= limits.perCall",
    replace: "|| price >= 0n",
    tests: REFUSED_CALLS,
    only:
      "name the maximum price of a call, also with a proof, which stays unuse|reports a bad key before " +
      "a bad body",
  },
  {
    name: "key-call-limit-proof",
    guard: "The limit per call also binds calls with a payment.",
    file: "src/app/calls/buy-call.ts",
    find: "requirePriceWithinLimit(tool.name, caller, price);",
    replace: "requirePriceWithinLimit(tool.name, caller, identified ? 0n : price);",
    tests: REFUSED_CALLS,
    only:
      "name the maximum price of a call, also with a proof, which stays unuse|reports a bad key before " +
      "a bad body",
  },
  {
    name: "key-expired",
    guard: "An expired API key is rejected, also where it is cached.",
    file: "src/postgres/accounts/authenticator.ts",
    find: "expiresAt.getTime() <= now",
    replace: "expiresAt.getTime() <= 0",
    tests: KEYS,
  },
  {
    name: "account-blocked",
    guard: "A blocked account's keys are rejected.",
    file: "src/transport/key-authenticator.ts",
    find: "if (caller.blockedReason !== undefined) throw",
    replace: 'if (caller.blockedReason === "") throw',
    tests: REFUSED_CALLS,
    only: "report the block instead|reports a bad key before a bad body",
  },
  {
    name: "key-budget-shared",
    guard: "A successor key shares the daily spend of the key it replaces.",
    file: API_KEYS,
    find: "(budgetId ?? id)",
    replace: "id",
    tests: KEYS,
  },
  {
    name: "key-replaced-once",
    guard: "A key is replaced once.",
    file: API_KEYS,
    find: "if (replacedBy) throw",
    replace: 'if (replacedBy === "") throw',
    tests: KEYS,
  },
  {
    name: "key-count",
    guard: "The number of working keys per account is limited.",
    file: API_KEYS,
    find: "< MAX_ACTIVE_KEYS) return",
    replace: ">= 0) return",
    tests: KEYS,
  },
  {
    name: "key-count-raced",
    guard: "Keys created concurrently are counted one after the other.",
    file: API_KEYS,
    find: `await em.execute("select pg_advisory_xact_lock(hashtextextended('keys ' || ?, 0))", [account]);`,
    replace: 'await em.execute("select ?::text", [account]);',
    tests: KEYS,
  },
  {
    name: "key-own",
    guard: "An account replaces and revokes only its own keys.",
    file: API_KEYS,
    find: 'accountId !== undefined && idFromUuid("acct", row.account) !== accountId',
    replace: 'accountId === "" && idFromUuid("acct", row.account) !== accountId',
    tests: KEYS,
  },
  {
    name: "key-use-forward",
    guard: "The last use of a key never moves back.",
    file: "src/postgres/accounts/key-uses.ts",
    find: "where known.last_used_at < excluded.last_used_at",
    replace: "",
    tests: KEYS,
  },
];
