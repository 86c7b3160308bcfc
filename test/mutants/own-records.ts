import type { Mutant } from "./mutant.ts";

/** Searches by an identifier find records of the caller's account only. */
export const OWN_RECORDS: readonly Mutant[] = [
  ownOnly("run", "A run", "const BY_RUN = `${RUN} where"),
  ownOnly("request", "A run's request", "const BY_REQUEST = ` (${RUN} where"),
  ownOnly("logged-request", "A logged request", "from request_log where"),
  ownOnly("proxy-request", "A run's request of a proxy", "const BY_PROXY_REQUEST = ` (${RUN} where"),
  ownOnly("quote", "A run's quote", "const BY_QUOTE = ` ${RUN} where"),
  ownOnly(
    "receipt",
    "A receipt",
    "const BY_RECEIPT = ` select 'receipt' as kind, id, null as quote_id, tool as title, created_at " +
      "from receipt where",
  ),
  ownOnly(
    "transaction",
    "A payment's receipt",
    "const BY_TRANSACTION = ` select 'receipt' as kind, id, null as quote_id, tool as title, created_at " +
      "from receipt where",
  ),
  ownOnly(
    "payment",
    "A payment's deposit",
    "select 'deposit', null, quote_id, '', created_at from payment where",
  ),
  ownOnly(
    "deposit",
    "A deposit",
    "const BY_DEPOSIT = ` select 'deposit' as kind, id, null as quote_id, '' as title, created_at " +
      "from deposit where",
  ),
  ownOnly(
    "key",
    "A key",
    "const BY_KEY = ` select 'key' as kind, id, null as quote_id, name as title, created_at " +
      "from api_key where",
  ),
];

function ownOnly(record: string, subject: string, statement: string): Mutant {
  return {
    name: `find-own-${record}`,
    guard: `${subject} is found by its own account only.`,
    file: "src/postgres/accounts/own-records.ts",
    find: `${statement} account_id = $1`,
    replace: `${statement} $1::uuid is not null`,
    tests: ["test/console-server/find-records.test.ts"],
  };
}
