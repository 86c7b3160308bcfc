import type { Mutant } from "./mutant.ts";

const ANSWERS = "src/postgres/ledger/replay-cache.ts";
const LEDGER = "src/postgres/ledger/ledger.ts";
const TOKENS = "src/postgres/accounts/token-prefetch.ts";
const REPEATS = ["test/postgres/ledger/replay-cache.test.ts"];
const RATES = ["test/postgres/accounts/rate-limiter.test.ts"];

/** The replay cache and prefetched rate-limit tokens. */
export const CACHES: readonly Mutant[] = [
  {
    name: "remembered-mismatch",
    guard: "The replay cache answers only the same call.",
    file: ANSWERS,
    find: " || !entry.fingerprint.equals(call.fingerprint)",
    replace: "",
    tests: REPEATS,
  },
  {
    name: "remembered-account",
    guard: "The replay cache answers only the account that paid.",
    file: ANSWERS,
    find: "${accountId} ${idempotencyKey}",
    replace: "${idempotencyKey}",
    tests: REPEATS,
  },
  {
    name: "remembered-charged",
    guard: "The replay cache stores only charged answers.",
    file: LEDGER,
    find: `if (ended.kind === "captured") cacheResult?.(ended.receipt);`,
    replace: `cacheResult?.(ended.kind === "captured" ? ended.receipt : undefined);`,
    tests: REPEATS,
  },
  {
    name: "remembered-unpaid",
    guard: "The replay cache stores no answer paid by a transaction, which may be reversed.",
    file: "src/postgres/ledger/claims.ts",
    find: "idempotencyKey !== undefined && payment === undefined",
    replace: "idempotencyKey !== undefined",
    tests: REPEATS,
  },
  {
    name: "remembered-refund",
    guard: "The replay cache drops refunded answers.",
    file: ANSWERS,
    find: "({ receipt }) => receipt?.runId === runId",
    replace: "() => runId === undefined",
    tests: REPEATS,
  },
  {
    name: "remembered-late",
    guard: "An answer refunded before it arrives is not cached.",
    file: ANSWERS,
    find: " || generation !== this.#generation",
    replace: "",
    tests: REPEATS,
  },
  {
    name: "remembered-deaf",
    guard: "The replay cache is bypassed while refund notifications may be missed.",
    file: ANSWERS,
    find: "notifications.live ? this.#entries.get(cacheKey(call)) : undefined",
    replace: "this.#entries.get(cacheKey(call))",
    tests: REPEATS,
  },
  {
    name: "tokens-once",
    guard: "A prefetched token is spent once.",
    file: TOKENS,
    find: "if (this.left <= 0) return undefined;",
    replace: "",
    tests: RATES,
  },
  {
    name: "tokens-of-tier",
    guard: "A token prefetched under another limit is not spent.",
    file: TOKENS,
    find: "grant.tier.ratePerMinute === tier.ratePerMinute && grant.tier.burst === tier.burst",
    replace: "grant.tier !== undefined && tier !== undefined",
    tests: RATES,
  },
  {
    name: "tokens-in-time",
    guard: "A prefetched token is not spent after its bucket may be full again.",
    file: TOKENS,
    find: "age >= 0 && age < WINDOW_MS && grant.tier",
    replace: "grant.tier",
    tests: RATES,
  },
];
