import type { Mutant } from "./mutant.ts";

const TABLES = "src/postgres/migrations/0009-treasury.ts";
const MOVEMENTS = "src/postgres/migrations/0010-movements.ts";
const CORRECTIONS = "src/postgres/migrations/0011-corrections.ts";
const RIGHTS = "src/postgres/migrations/0012-rights.ts";
const BEGIN = "src/postgres/migrations/0004-begin.ts";
const ONCE = ["test/postgres/repeats.test.ts"];
const LOCKS = ["test/postgres/locks.test.ts"];
const BOOKS = ["test/postgres/treasury-ledger.test.ts"];
const WATCH = ["test/postgres/treasury-watch.test.ts"];
const BACKSTOPS = ["test/postgres/constraints.test.ts"];

/** Treasury movements, reversals and suspense in the ledger. */
export const TREASURY: readonly Mutant[] = [
  {
    name: "movement-once",
    guard: "A transaction moves the treasury account once.",
    file: TABLES,
    find: "primary key (token_account, tx_signature)",
    replace: "unique (token_account, tx_signature, created_at)",
    tests: BACKSTOPS,
  },
  {
    name: "movement-append-only",
    guard: "Treasury movements are never changed.",
    file: TABLES,
    find: "before update or delete or truncate on treasury_movement",
    replace: "before delete or truncate on treasury_movement",
    tests: BACKSTOPS,
  },
  {
    name: "movement-credited",
    guard: "A movement that names a quote is credited to its account.",
    file: MOVEMENTS,
    find: "set available = a.available + change where a.id = holder",
    replace: "set available = a.available where a.id = holder",
    tests: ONCE,
  },
  {
    name: "movement-as-credited",
    guard: "A movement with another amount than was credited changes nothing.",
    file: MOVEMENTS,
    find: "if known.amount <> change then",
    replace: "if false then",
    tests: BOOKS,
  },
  {
    name: "movement-holds-payment",
    guard: "A payment is locked while its movement is recorded.",
    file: MOVEMENTS,
    find: "where p.tx_signature = signature for update",
    replace: "where p.tx_signature = signature",
    tests: ["test/postgres/movement-races.test.ts"],
  },
  {
    name: "movement-known-owner",
    guard: "A movement that names an unknown account goes to suspense.",
    file: MOVEMENTS,
    find: "coalesce((select a.id from account a where a.id = owner and quote is not null), ",
    replace: "coalesce(owner, ",
    tests: BOOKS,
  },
  {
    name: "finalize-not-reversed",
    guard: "A reversed payment is not finalized by its status alone.",
    file: MOVEMENTS,
    find: "and not finalized and not reversed",
    replace: "and not finalized",
    tests: ONCE,
  },
  {
    name: "reverse-once",
    guard: "A payment is reversed once.",
    file: CORRECTIONS,
    find: "and not finalized and (again or not reversed)",
    replace: "and not finalized",
    tests: ONCE,
  },
  {
    name: "reverse-unfinalized",
    guard: "A finalized payment is not reversed.",
    file: CORRECTIONS,
    find: "and not finalized and (again or not reversed)",
    replace: "and (again or not reversed)",
    tests: ONCE,
  },
  {
    name: "reversal-debits",
    guard: "A reversal debits the balance.",
    file: CORRECTIONS,
    find: "set available = account.available - taken.amount",
    replace: "set available = account.available",
    tests: ONCE,
  },
  {
    name: "reversed-buys-nothing",
    guard: "A reversed payment buys nothing.",
    file: "src/postgres/migrations/0003-judge.ts",
    find: "when payment.reversed then 'reversed'\n        when payment.settled",
    replace: "when payment.settled",
    tests: ["test/postgres/corrections.test.ts"],
  },
  {
    name: "reversed-not-adopted",
    guard: "A payment reversed while its call waits is not spent.",
    file: BEGIN,
    find: "and not payment.settled and not payment.reversed",
    replace: "and not payment.settled",
    tests: LOCKS,
  },
  {
    name: "credited-payment-locked",
    guard: "A payment is locked while it buys its call again.",
    file: BEGIN,
    find: "perform from payment where tx_signature = any (credited) order by tx_signature for update",
    replace: "perform cardinality(credited)",
    tests: LOCKS,
  },
  {
    name: "assign-once",
    guard: "A transfer in suspense is assigned once.",
    file: CORRECTIONS,
    find: "if given.assigned_to is not null then",
    replace: "if false then",
    tests: ONCE,
  },
  {
    name: "assign-suspense",
    guard: "Only transfers in suspense are assigned.",
    file: CORRECTIONS,
    find: "and p.account_id = '${suspense}' and not p.reversed",
    replace: "and not p.reversed",
    tests: ["test/postgres/suspense.test.ts"],
  },
  {
    name: "opening-once",
    guard: "The treasury's opening balance is recorded once.",
    file: TABLES,
    find: "if found and amount > 0 then",
    replace: "if amount > 0 then",
    tests: ONCE,
  },
  {
    name: "watch-never-back",
    guard: "The treasury cursor never moves back.",
    file: TABLES,
    find: "greatest(slot, to_slot)",
    replace: "to_slot",
    tests: WATCH,
  },
  {
    name: "one-leader",
    guard: "One instance at a time leads the treasury jobs.",
    file: TABLES,
    find: "where held.owner = excluded.owner or held.until < now()",
    replace: "",
    tests: WATCH,
  },
  {
    name: "resign-own-lease",
    guard: "An instance gives up only its own lease.",
    file: TABLES,
    find: "where name = 'treasury' and owner = instance",
    replace: "where name = 'treasury'",
    tests: WATCH,
  },
  {
    name: "functions-own-tables",
    guard: "No role can make the ledger's functions write to its own tables.",
    file: RIGHTS,
    find: "set search_path = public, pg_temp",
    replace: "set search_path = pg_temp, public",
    tests: ["test/postgres/rights.test.ts"],
  },
];
