import type { Mutant } from "./mutant.ts";

const STORE = ["test/postgres/operations/request-log.test.ts"];
const COLLECTED = ["test/app/operations/account-requests.test.ts"];
const CONSOLE = ["test/console-server/request-log.test.ts"];

const QUERIES = "src/postgres/operations/request-log.ts";
const REQUESTS = "src/app/operations/account-requests.ts";
const SEALED = "src/domain/accounts/sealed-bodies.ts";

/** The request log of accounts. */
export const REQUEST_LOG: readonly Mutant[] = [
  {
    name: "request-log-own",
    guard: "An account finds its own requests only.",
    file: QUERIES,
    find: "where request.account_id = $1 and request.expires_at > now()`",
    replace: "where $1::uuid is not null and request.expires_at > now()`",
    tests: STORE,
  },
  {
    name: "request-log-deletes-own",
    guard: "An account deletes its own requests only.",
    file: QUERIES,
    find: "delete from request_log where account_id = $1 and ($2::uuid is null or id = $2)",
    replace: "delete from request_log where $1::uuid is not null and ($2::uuid is null or id = $2)",
    tests: STORE,
  },
  {
    name: "request-log-operator",
    guard: "Operators see neither params nor results of requests.",
    file: "src/transport/services/calls/request-log-service.ts",
    find: "readId === caller.accountId && body &&",
    replace: "body &&",
    tests: CONSOLE,
  },
  {
    name: "request-log-bodies",
    guard: "Params and results are stored only of the requests that the account chose.",
    file: REQUESTS,
    find: "body: stored ? bodyText(record) : undefined",
    replace: "body: stored || true ? bodyText(record) : undefined",
    tests: COLLECTED,
  },
  {
    name: "request-log-body-size",
    guard: "Params and results in the request log are bounded in size.",
    file: "src/app/operations/request-bodies.ts",
    find: "return left >= 0;",
    replace: "return true;",
    tests: COLLECTED,
  },
  {
    name: "request-log-row",
    guard: "A sealed body opens only in the row that it was sealed for.",
    file: SEALED,
    find: ".setAAD(Buffer.from(rowId)) .setAuthTag",
    replace: ".setAAD(Buffer.alloc(0)) .setAuthTag",
    tests: STORE,
  },
  {
    name: "request-log-expiry",
    guard: "An expired request is not shown.",
    file: QUERIES,
    find: "and request.expires_at > now()`",
    replace: "`",
    tests: STORE,
  },
  {
    name: "request-log-retention",
    guard: "Expired requests are deleted.",
    file: "src/postgres/ledger/expired-rows.ts",
    find: "select account_id, id from request_log where expires_at < now() limit $2",
    replace: "select account_id, id from request_log where false limit $2",
    tests: STORE,
  },
  {
    name: "request-log-trimmed",
    guard: "An account keeps a bounded number of requests.",
    file: "src/postgres/operations/request-log-writer.ts",
    find: "if (rows < TRIM_EVERY) continue;",
    replace: "continue;",
    tests: STORE,
  },
  {
    name: "request-log-flood",
    guard: "Equal refusals have few rows, and their number.",
    file: REQUESTS,
    find: "if (equal && ++equal.count > MAX_EQUAL) equal.last.repeats++;",
    replace: "if (false) return;",
    tests: COLLECTED,
  },
  {
    name: "request-log-account",
    guard: "Requests of one account leave room for those of others.",
    file: REQUESTS,
    find: "(this.#ofAccount.get(accountId) ?? 0) >= MAX_OF_ACCOUNT",
    replace: "false",
    tests: COLLECTED,
  },
  {
    name: "request-log-pending",
    guard: "A bounded number of requests waits for the database.",
    file: REQUESTS,
    find: "this.#pending.length >= MAX_PENDING",
    replace: "false",
    tests: [...COLLECTED, ...STORE],
  },
  {
    name: "request-log-refused-caller",
    guard: "A request that was refused before it was read has the account of its key.",
    file: "src/transport/key-authenticator.ts",
    find: "error.caller = caller;",
    replace: "",
    tests: CONSOLE,
  },
];
