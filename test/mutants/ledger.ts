import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const LEDGER_TESTS = "test/postgres/ledger/ledger.test.ts";
const CONSTRAINTS = "test/postgres/database/constraints.test.ts";
const PAYMENTS = "test/postgres/ledger/payments.test.ts";
const LOCKS = "test/postgres/ledger/locks.test.ts";
const PATHS: Tests = { files: ["test/postgres/ledger/paths.test.ts", CONSTRAINTS] };
const FENCE = "test/postgres/ledger/fence.test.ts";
const HOLDS: Tests = { files: [LEDGER_TESTS, CONSTRAINTS] };
const DEPOSITS: Tests = { files: [PAYMENTS, CONSTRAINTS] };
const KEYS: Tests = {
  files: [LEDGER_TESTS],
  only: "may look like the claim of a payment|releases its hold when it fails",
};

/** Claims, holds, charges and refunds in the ledger. */
export const LEDGER: readonly Mutant[] = [
  ...mutants(sqlFile("migrations/0001_baseline.sql"), CONSTRAINTS, {
    "payment-once": ["A transaction is stored as one payment.", "primary key (network, reference),", ""],
    "transfer-once": [
      "The same cause never moves money twice.",
      "constraint transfer_kind_ref_unique unique (kind, ref)",
      "constraint transfer_kind_ref_unique check (kind is not null)",
    ],
    "claim-once": [
      "An account claims a key once.",
      "primary key (account_id, key)",
      "primary key (account_id, key, run_id)",
    ],
  }),
  ...mutants(sqlFile("migrations/0001_baseline.sql"), DEPOSITS, {
    "quote-settled-once": [
      "One payment at most settles a quote.",
      "create unique index payment_settled_quote_unique",
      "create index payment_settled_quote_unique",
    ],
  }),
  ...mutants(sqlFile("triggers/refuse_change.sql"), CONSTRAINTS, {
    "append-only-update": [
      "Transfers and receipts are never updated.",
      "before update or delete or truncate on transfer",
      "before delete or truncate on transfer",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_lookup.sql"), LEDGER_TESTS, {
    "key-mismatch": [
      "An idempotency key accepts only the call it was first used for.",
      "when claim.fingerprint <> call.fingerprint then 'mismatch'",
      "when false then 'mismatch'",
    ],
    "key-in-progress": [
      "A second call with a running key does not start.",
      "when claim.state = 'running' and claim.run_id is distinct from call.run_id then 'in_progress'",
      "when false then 'in_progress'",
    ],
    "key-replay": [
      "A completed key returns the stored answer.",
      "when claim.state = 'done' then 'replay'",
      "when false then 'replay'",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_lookup.sql"), PAYMENTS, {
    "payment-in-progress": [
      "A payment with a running call starts no other call under any key.",
      "when paid.state = 'running' and paid.run_id is distinct from call.run_id then 'in_progress'",
      "when false then 'in_progress'",
    ],
    "payment-replay": [
      "A payment whose call was charged returns the stored answer under any key.",
      "when paid.state = 'done' then 'replay'",
      "when false then 'replay'",
    ],
    "payment-account": [
      "A payment buys nothing for another account.",
      "payment.account_id <> call.account_id",
      "false",
    ],
    "payment-call": [
      "A payment buys only the call it was claimed for.",
      "payment.fingerprint <> call.fingerprint",
      "false",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_decide.sql"), PAYMENTS, {
    "unverified-payment": [
      "An unverified payment buys nothing.",
      "coalesce(item.verdict, 'quote_paid') = 'quote_paid' then 'payment_used'",
      "false then 'payment_used'",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_lookup.sql"), "test/postgres/treasury/corrections.test.ts", {
    "reversed-buys-nothing": [
      "A reversed payment buys nothing.",
      "when payment.reversed then 'reversed'\n        when payment.settled",
      "when payment.settled",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_claim.sql"), LEDGER_TESTS, {
    "checked-again": [
      "The state of a call is read again after its claim is locked.",
      "else coalesce(item.verdict, 'new') end",
      "else kinds[item.n] end",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_grant.sql"), LEDGER_TESTS, {
    "balance-covers": [
      "A call starts only if the balance covers its price.",
      "if available >= item.price or item.price = 0 then",
      "if true then",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_grant.sql"), LOCKS, {
    "account-locked": [
      "The balance is checked under the account's lock.",
      "order by id\n    for update\n  ) locked",
      "order by id\n  ) locked",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_hold.sql"), HOLDS, {
    "price-held": [
      "The price leaves the available balance when the call starts.",
      "- case when kinds[call.n] = 'granted' then call.price else 0 end",
      "- 0",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_hold.sql"), PAYMENTS, {
    "surplus-payment-credited": [
      "A second payment of a quote is credited although it buys nothing.",
      "case when call.payment = any (deposited) then call.deposit else 0 end",
      "case when call.payment = any (deposited) and kinds[call.n] = 'granted' then call.deposit else 0 end",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), LEDGER_TESTS, {
    "start-covered": [
      "The fast path starts a call only if the balance covers it and the calls before it.",
      "where available >= total or price = 0",
      "where available >= price or price = 0",
    ],
    "start-claimed": [
      "The fast path starts a call with a key only if it inserted the claim.",
      "where run_id = any (claimed) or claim_key is null",
      "where claim_key is not null or claim_key is null",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), LOCKS, {
    "start-account-locked": [
      "The fast path checks the balance under the account's lock.",
      "where id = call.account_id for update) account",
      "where id = call.account_id offset 0) account",
    ],
    "start-once": [
      "A run that the fast path is sent twice is held once.",
      "from numbered ), debit as (",
      "from numbered on conflict (id) do update set price = excluded.price ), debit as (",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), HOLDS, {
    "start-held": [
      "The price leaves the available balance when the fast path starts a call.",
      "set available = available - amounts[",
      "set available = available - 0 * amounts[",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start.sql"), PATHS, {
    "start-numbered": [
      "The fast path numbers the holds of an account one after the other.",
      "seq + place end as run_seq",
      "seq + 1 end as run_seq",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_grant.sql"), PATHS, {
    "grant-numbered": [
      "A hold has a number of its own.",
      "seq := seq + (item.price > 0)::integer",
      "seq := seq + 0",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_return.sql"), PATHS, {
    "return-numbered": [
      "A returned hold has a number of its own.",
      "array_agg(seq + place)",
      "array_agg(seq)",
    ],
  }),
  ...mutants(sqlFile("triggers/balance_step.sql"), CONSTRAINTS, {
    "balance-numbered": [
      "A balance changes only with its number.",
      "new.available <> old.available and new.seq = old.seq",
      "false",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start_proved.sql"), PATHS, {
    "proved-covered": [
      "A new payment starts a call only if it covers the price.",
      "deposit is null or deposit < price or",
      "deposit is null or",
    ],
    "proved-numbered": [
      "A payment and the hold of its call are two changes of the balance.",
      "seq_after - (price > 0)::integer",
      "seq_after",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_start_proved.sql"), DEPOSITS, {
    "proved-surplus-credited": [
      "What a new payment exceeds its call's price by is credited.",
      "set available = available + amounts[",
      "set available = available + 0 * amounts[",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_capture.sql"), FENCE, {
    "capture-active": [
      "A run that ended is not captured.",
      "and status || '' = 'active' and owner = instance",
      "and owner = instance",
    ],
    "capture-owner": [
      "Only the owning instance captures a run.",
      "and status || '' = 'active' and owner = instance",
      "and status || '' = 'active'",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_capture.sql"), LEDGER_TESTS, {
    "capture-rest-returned": [
      "What a call holds and does not cost is returned.",
      "if rest > 0 then",
      "if false then",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_return.sql"), LEDGER_TESTS, {
    "hold-released": [
      "A released run returns its hold to the balance.",
      "set seq = last.seq, available = last.available",
      "set seq = last.seq",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_sweep.sql"), FENCE, {
    "hold-released-by-sweep": [
      "A swept run returns its hold to the balance.",
      "perform ledger_release(expired)",
      "perform cardinality(expired)",
    ],
    "sweep-expired-only": [
      "Only runs with an expired lease are swept.",
      "where status = 'active' and lease_until < now() and case",
      "where status = 'active' and case",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_sweep.sql"), "test/postgres/ledger/stalled-instance.test.ts", {
    "stall-survived": [
      "A stalled instance keeps its runs for a while.",
      "when owner = any (connected) then lease_until < now() - stall",
      "when owner = any (connected) then true",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_credit.sql"), "test/postgres/ledger/networks.test.ts", {
    "credit-once": [
      "A transaction is credited once.",
      "on conflict do nothing;\n        if not found then\n          return false",
      "on conflict do nothing;\n        if false then\n          return false",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_refund.sql"), "test/postgres/treasury/corrections.test.ts", {
    "refund-once": ["A receipt is refunded once.", "is_first := found and not", "is_first := found or not"],
  }),
  ...mutants(sqlFile("functions/ledger_credit.sql"), "test/postgres/database/rights.test.ts", {
    "functions-own-tables": [
      "No role can make the ledger's functions write to its own tables.",
      "set search_path = public, pg_temp",
      "set search_path = pg_temp, public",
    ],
  }),
  ...mutants("src/postgres/ledger/claims.ts", KEYS, {
    "keys-apart-from-payments": [
      "A caller's key can never equal the claim of a payment.",
      "return `key:${idempotencyKey}`",
      "return idempotencyKey",
    ],
  }),
  ...mutants("src/postgres/database/batcher.ts", "test/postgres/database/batcher.test.ts", {
    "batch-exclusive": [
      "Calls that share a key, payment or quote never enter one batch.",
      "!waiting.keys.some((key) => keys.has(key))",
      "true",
    ],
  }),
  ...mutants("src/postgres/database/primary.ts", "test/postgres/database/promotion.test.ts", {
    "old-primary-refused": [
      "A server that was the primary until a promotion is refused, although it accepts writes.",
      "identity.timeline < this.#latest.timeline",
      "identity.timeline < 0",
    ],
  }),
];
