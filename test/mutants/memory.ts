import type { Mutant } from "./mutant.ts";

const ANSWERS = "src/postgres/replay-cache.ts";
const LEDGER = "src/postgres/ledger.ts";
const TOKENS = "src/postgres/token-prefetch.ts";
const REPEATS = ["test/postgres/replay-cache.test.ts"];
const RATES = ["test/postgres/rate-limiter.test.ts"];

/** What an instance remembers of the database, and until when. */
export const MEMORY: readonly Mutant[] = [
  {
    name: "remembered-mismatch",
    guard: "A remembered answer is that of the call that is repeated.",
    file: ANSWERS,
    find: " || !answer.fingerprint.equals(call.fingerprint)",
    replace: "",
    tests: REPEATS,
  },
  {
    name: "remembered-account",
    guard: "A remembered answer is told to the account that paid for it.",
    file: ANSWERS,
    find: "${accountId} ${idempotencyKey}",
    replace: "${idempotencyKey}",
    tests: REPEATS,
  },
  {
    name: "remembered-charged",
    guard: "Only an answer that was charged is remembered.",
    file: LEDGER,
    find: `if (finished.kind === "captured") remember?.(finished.receipt);`,
    replace: `remember?.(finished.kind === "captured" ? finished.receipt : undefined);`,
    tests: REPEATS,
  },
  {
    name: "remembered-unpaid",
    guard: "An answer that a transaction paid for is not remembered: the transaction may be reversed.",
    file: LEDGER,
    find: "idempotencyKey !== undefined && payment === undefined",
    replace: "idempotencyKey !== undefined",
    tests: REPEATS,
  },
  {
    name: "remembered-refund",
    guard: "An answer whose charge was given back is not told from memory.",
    file: ANSWERS,
    find: "({ receipt }) => receipt?.runId === runId",
    replace: "() => runId === undefined",
    tests: REPEATS,
  },
  {
    name: "remembered-late",
    guard: "An answer whose charge was given back before it arrived is not remembered.",
    file: ANSWERS,
    find: " || generation !== this.#generation",
    replace: "",
    tests: REPEATS,
  },
  {
    name: "remembered-deaf",
    guard: "Nothing is told from memory while a refund may not be heard of.",
    file: ANSWERS,
    find: "notifications.live ? this.#answers.get(cacheKey(call)) : undefined",
    replace: "this.#answers.get(cacheKey(call))",
    tests: REPEATS,
  },
  {
    name: "tokens-once",
    guard: "A token that was taken ahead is spent once.",
    file: TOKENS,
    find: "if (this.left <= 0) return undefined;",
    replace: "",
    tests: RATES,
  },
  {
    name: "tokens-of-tier",
    guard: "A token that was taken ahead under another limit is not spent.",
    file: TOKENS,
    find: "grant.tier.ratePerMinute === tier.ratePerMinute && grant.tier.burst === tier.burst",
    replace: "grant.tier !== undefined && tier !== undefined",
    tests: RATES,
  },
  {
    name: "tokens-in-time",
    guard: "A token that was taken ahead is not spent once its bucket may be full again.",
    file: TOKENS,
    find: "age >= 0 && age < WINDOW_MS && grant.tier",
    replace: "grant.tier",
    tests: RATES,
  },
];
