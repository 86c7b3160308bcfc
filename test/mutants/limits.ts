import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const RATE_LIMITER = "test/postgres/accounts/rate-limiter.test.ts";
const BUDGETS = "test/postgres/accounts/budgets.test.ts";
const UNPAID_WORK = "test/app/calls/unpaid-work.test.ts";
const RUN_AND_CAPTURE = "test/app/calls/run-and-capture.test.ts";
const ACCOUNTS: Tests = { files: [RATE_LIMITER], only: "an account" };
const SLOTS: Tests = {
  files: ["test/postgres/ledger/sandbox-runs.test.ts"],
  only: "concurrent executions of an account|an execution name",
};
const REFUSED: Tests = {
  files: ["test/contract/tool-call.test.ts"],
  only: "name the allowed tools|name the maximum price of a call|reports a bad key before",
};
const CORPUS: Tests = { files: ["test/sandbox/corpus.test.ts"], only: "files-read-by-loaders|honest" };
const MODELS: Tests = {
  files: ["test/transport/openai/openai.test.ts", "test/transport/openai/endings.test.ts"],
  only: "asks no other upstream|limits a model's",
};
const SMALL: Tests = {
  files: ["test/security/keyless.test.ts"],
  only: "a sign-in of a megabyte|sends uncompressed responses",
};
const EXPENSIVE: Tests = {
  files: ["test/security/unpaid-time.test.ts"],
  only: "bytes of a gRPC struct|bytes of OpenAI tools",
};
const DOCUMENTS: Tests = {
  files: ["test/security/unpaid-time.test.ts"],
  only: "refuses (documents|an address)",
};
const HELD: Tests = {
  files: ["test/transport/grpc/held-calls.test.ts"],
  only: "above the total limit|rejects a missing or bad key",
};
const SIGN_IN: Tests = {
  files: ["test/console-server/sign-in.test.ts"],
  only: "limits (new accounts|challenges)",
};
const UNREAD: Tests = {
  files: ["test/transport/http/slow-callers.test.ts"],
  only: "behind an answer|idle connection after",
};

/** Limits of keys, rates and work, and what is charged. */
export const LIMITS: readonly Mutant[] = [
  ...mutants(sqlFile("functions/rate_take.sql"), RATE_LIMITER, {
    "rate-bucket": [
      "A bucket grants no more than it holds.",
      "greatest(0, (now_us + bursts[n] * intervals[n] - tat) / intervals[n])",
      "wanted[n]",
    ],
  }),
  ...mutants(sqlFile("functions/rate_take.sql"), RATE_LIMITER, {
    "full-ahead": [
      "A bucket is at most empty, also after the clock was set back.",
      "tat := least(greatest(tats[own], now_us), now_us + bursts[n] * intervals[n]);",
      "tat := greatest(tats[own], now_us);",
    ],
  }),
  ...mutants("src/postgres/accounts/rate-limiter.ts", "test/gateway/read-only.test.ts", {
    "bucket-in-memory": [
      "While the database accepts no writes, buckets in memory limit the calls.",
      "tokens: Math.trunc((emptyUs - boundUs) / intervalUs)",
      "tokens: 1_000",
    ],
  }),
  ...mutants("src/postgres/accounts/api-keys.ts", "test/postgres/accounts/limited-keys.test.ts", {
    "limits-merged": [
      "A change of one limit keeps the others.",
      "const merged = { ...NO_LIMITS, ...old?.limits, ...limits };",
      "const merged = { ...NO_LIMITS, ...limits };",
    ],
    "limits-expected": [
      "A change that replaces all limits is refused if they are others than expected.",
      "requireExpected(old?.limits, expected);",
      "",
    ],
  }),
  ...mutants(sqlFile("functions/rate_take.sql"), ACCOUNTS, {
    "account-bucket": [
      "The keys of an account together get no more than the account's bucket.",
      "(now_us + account_bursts[n] * account_intervals[n] - account_tat) / account_intervals[n]",
      "1000000",
    ],
  }),
  ...mutants(sqlFile("functions/sandbox_create.sql"), SLOTS, {
    "sandbox-slots-by-account": [
      "Sandbox executions are counted per account, not per key.",
      "where open.account_id = account and open.ended_at is null",
      "where open.key_id = key and open.ended_at is null",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_grant.sql"), "test/postgres/accounts/day-limits.test.ts", {
    "budget-limit": [
      "A key takes no more from the balance than its limits, whatever races.",
      "if refusal is not null then",
      "if false then",
    ],
  }),
  ...mutants(sqlFile("functions/budget_refusal.sql"), BUDGETS, {
    "budget-group": [
      "A key takes no more from the balance than the limits of its group.",
      "where budget_id = any (array[key.budget_id, key.group_id])",
      "where budget_id = any (array[key.budget_id])",
    ],
  }),
  ...mutants(sqlFile("functions/budget_return.sql"), BUDGETS, {
    "budget-released": [
      "A released hold returns to the key's budget.",
      "total_spent = greatest(0, total_spent - amount)",
      "total_spent = total_spent",
    ],
  }),
  ...mutants(sqlFile("functions/budget_take.sql"), BUDGETS, {
    "budget-saturates": [
      "A counter that cannot count further fails no batch.",
      "total_spent = least(total_spent, room) + price",
      "total_spent = total_spent + price",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), BUDGETS, {
    "budget-fast-path": [
      "A call of a key whose limits changed does not take the fast path.",
      "account.limits_version = call.limits_version or price = 0",
      "true",
    ],
  }),
  ...mutants("src/app/calls/refusals.ts", REFUSED, {
    "key-tools": [
      "A key calls only its allowed tools.",
      "if (!allowsTool(caller, name)) {",
      "if (!allowsTool(caller, name) && name === undefined) {",
    ],
    "key-call-limit": [
      "A call costs no more than its key's limit, however it is paid.",
      "|| call.price <= limit)",
      "|| call.price >= 0n)",
    ],
  }),
  ...mutants("src/postgres/accounts/api-keys.ts", "test/postgres/accounts/limited-keys.test.ts", {
    "key-budget-shared": [
      "A successor key shares the budget of the key it replaces.",
      "budgetId: shared?.budgetId ?? null",
      "budgetId: null",
    ],
    "key-count": [
      "The number of working keys per account is limited.",
      "< MAX_ACTIVE_KEYS) return",
      ">= 0) return",
    ],
  }),
  ...mutants("src/app/calls/unpaid-work.ts", UNPAID_WORK, {
    "unpaid-work-refused": [
      "An account with too much uncharged work is refused.",
      "if (heldMs <= 0) return;",
      "return;",
    ],
  }),
  ...mutants("src/app/calls/run-and-capture.ts", UNPAID_WORK, {
    "unpaid-work-counted": [
      "A call that fails after a server worked for it is counted.",
      "failure.worked && tool.billable ?",
      "false ?",
    ],
  }),
  ...mutants("src/domain/calls/receipt.ts", RUN_AND_CAPTURE, {
    "charge-within-quote": [
      "A tool that reports more than the quote is charged the quote.",
      "if (used >= held) return held;",
      "",
    ],
  }),
  ...mutants("src/app/calls/run-and-capture.ts", RUN_AND_CAPTURE, {
    "charge-as-metered": [
      "What a tool reports as used is charged, not the quote.",
      "{ captured: chargeOf(price, usage.used) }",
      "{ captured: chargeOf(price, price) }",
    ],
  }),
  ...mutants("src/inference/upstream-models.ts", MODELS, {
    "failover-uncomputed-only": [
      "A call goes to the next model server only if the first computed nothing.",
      "if (!(error instanceof ModelServerError) || !error.canFailOver) throw error;",
      "if (!(error instanceof ModelServerError)) throw error;",
    ],
  }),
  ...mutants("src/inference/model-limits.ts", MODELS, {
    "model-calls-limited": [
      "A model runs no more calls at once than its limit.",
      "usage.running >= concurrency",
      "usage.running > concurrency",
    ],
  }),
  ...mutants("src/transport/limits.ts", SMALL, {
    "keyless-message": [
      "A method without a key accepts only small messages.",
      'if (key !== "required" && key !== "wallet") return Math.min(bodyLimit, KEYLESS_MESSAGE_LIMIT);',
      "",
    ],
  }),
  ...mutants("src/app/accounts/sign-in.ts", SIGN_IN, {
    "new-accounts": [
      "A network creates a limited number of accounts a day.",
      "if (!(await wallets.find(address))) admitNew();",
      "",
    ],
  }),
  ...mutants("src/inference/usage.ts", "test/inference/usage.test.ts", {
    "usage-beyond": [
      "What a total has beyond the sum is output.",
      "const output = completion + beyond;",
      "const output = completion;",
    ],
    "usage-cached": ["No more is cached than was sent.", "Math.min(cached, prompt)", "cached"],
    "usage-counts": ["Counts are not negative.", " && count >= 0", ""],
  }),
  ...mutants("src/tools/inference-chat/price.ts", "test/tools/inference-chat/price.test.ts", {
    "left-prompt": [
      "A caller who leaves half way pays for no more of the prompt than for the whole.",
      "const estimate = isCut ? leastPrompt : estimatedPrompt;",
      "const estimate = isCut ? estimatedPrompt : estimatedPrompt;",
    ],
    "left-rates": [
      "A caller who leaves half way pays no higher rates than for the whole.",
      "completion.delivered?.isCut ? atLeastRates(model, used) : used;",
      "used;",
    ],
  }),
  ...mutants("src/inference/completion.ts", "test/inference/completion.test.ts", {
    "left-cut": ["An answer is cut unless its server ended it.", "isCut: !this.#isEnded", "isCut: false"],
  }),
  ...mutants("src/transport/unpaid-time.ts", "test/transport/unpaid-time.test.ts", {
    "unpaid-time": [
      "An account or address without time is refused.",
      "if (!refusal) return;",
      "if (refusal || !refusal) return;",
    ],
    "unpaid-time-paid": [
      "A charged call takes no time.",
      "if (charged > 0n) return this.#buckets.giveBack",
      "if (charged < 0n) return this.#buckets.giveBack",
    ],
  }),
  ...mutants("src/transport/documents/document-handler.ts", DOCUMENTS, {
    "document-time": [
      "An address without time gets no documents.",
      "time.admit(record, { caller: undefined, rate: undefined }, new HttpCredentials(request));",
      "",
    ],
  }),
  ...mutants("src/transport/message-size.ts", EXPENSIVE, {
    "message-size": [
      "A message is no larger than its tool takes.",
      "if (length <= limit) return;",
      "if (length >= 0) return;",
    ],
    "message-values": [
      "A large message has a limit of values.",
      "if (values > MAX_VALUES)",
      "if (values > Infinity)",
    ],
  }),
  ...mutants("src/transport/console-server/sign-in-limits.ts", SIGN_IN, {
    "new-accounts-site": [
      "The addresses of a /24 create a limited number of accounts a day.",
      "{ ipv4Sites: true }",
      "{ ipv4Sites: false }",
    ],
  }),
  ...mutants("src/tools/custom/parameter-check.ts", "test/tools/custom/slow-checks.test.ts", {
    "slow-check": [
      "What takes long to check is checked in a thread.",
      "if (by && !this.#isQuick(text))",
      "if (by && this.#isQuick(text))",
    ],
  }),
  ...mutants("src/tools/custom/slow-checks.ts", "test/tools/custom/slow-checks.test.ts", {
    "slow-check-row": [
      "Few checks of one payer wait.",
      "if (own.length >= MAX_OF_PAYER)",
      "if (own.length > MAX_OF_PAYER)",
    ],
    "slow-check-turns": [
      "Payers take turns.",
      "this.#waiting.delete(payer);",
      "if (requests.length === 0) this.#waiting.delete(payer);",
    ],
  }),
  ...mutants("src/tools/custom/cel-expression.ts", "test/tools/custom/price-expression.test.ts", {
    "price-loops": [
      "The loops of a price go through a limited number of items.",
      "if (this.#items > MAX_ITEMS) throw",
      "if (this.#items > Infinity) throw",
    ],
  }),
  ...mutants("src/transport/grpc/open-calls.ts", HELD, {
    "keyless-held-in-all": [
      "All connections together hold few calls without a key.",
      "this.#keyless.size <= total) return;",
      "this.#keyless.size <= Infinity) return;",
    ],
  }),
  ...mutants("src/transport/http/open-responses.ts", UNREAD, {
    "answers-read": [
      "A request waits while earlier answers of its connection are unread.",
      "return unread < this.#limits.unreadBytes;",
      "return true;",
    ],
  }),
  ...mutants("src/sandbox/process/guest/wire.mjs", CORPUS, {
    "sandbox-loaders": [
      "A guest reads no file through Node's module loaders.",
      "Module._extensions[extension] = refuse;",
      "void extension;",
    ],
  }),
  ...mutants("src/tools/define-tool.ts", "test/tools/sandbox/calls.test.ts", {
    "sandbox-proof": [
      "No code runs before the sandbox passed its self-test.",
      'if (proof() === "passed") return prepared;',
      "if (prepared.price >= 0n) return prepared;",
    ],
  }),
];
