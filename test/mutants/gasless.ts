import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const RELAY = "test/app/payments/gasless/relay.test.ts";
const REFUSED = "test/payments/gasless/refused.test.ts";
const RELAYS = "test/postgres/payments/relays.test.ts";
const STATES: Tests = {
  files: [RELAY],
  only: "waits for a sent payment|PAYMENT_PENDING for a sent payment|fetches a blockhash once",
};
const ABSENT: Tests = { files: [RELAY], only: "does not land|refuses a payment after its quote expired" };

/** Transactions that the gateway pays the fee of. */
export const GASLESS: readonly Mutant[] = [
  ...mutants("src/payments/gasless/wire-transaction.ts", REFUSED, {
    "gasless-no-lookup-tables": [
      "A relayed transaction uses no lookup tables.",
      "if (lookups > 0) {",
      "if (false) {",
    ],
  }),
  ...mutants("src/payments/gasless/transaction-rules.ts", REFUSED, {
    "gasless-two-signers": [
      "The fee payer pays for two signatures.",
      "signatures.length !== 2",
      "signatures.length < 2",
    ],
    "gasless-fee-payer-idle": [
      "The fee payer takes part in no instruction.",
      "if (!accounts.includes(0)) return;",
      "return;",
    ],
  }),
  ...mutants("src/payments/gasless/transaction-rules.ts", REFUSED, {
    "gasless-guards-assert": [
      "Wallet guards only assert and cannot create or close accounts at the fee payer's cost.",
      "new Set([2, 3, ...OF_ACCOUNTS, 9, 10])",
      "new Set([0, 1, 2, 3, ...OF_ACCOUNTS, 9, 10])",
    ],
  }),
  ...mutants("src/payments/gasless/layout.ts", REFUSED, {
    "gasless-layout": [
      "A relayed transaction has exactly the four instructions of a payment.",
      "if (!LAYOUTS.has(order) ||",
      "if (",
    ],
  }),
  ...mutants("src/payments/gasless/transaction-rules.ts", REFUSED, {
    "gasless-compute-price": [
      "The compute price of a relayed transaction is bounded.",
      "if (bid > MAX_UNIT_PRICE)",
      "if (false)",
    ],
  }),
  ...mutants("src/payments/gasless/transfer.ts", REFUSED, {
    "gasless-destination": [
      "A relayed transfer pays the treasury.",
      "if (!same(destination, treasury.tokenAccount))",
      "if (false)",
    ],
  }),
  ...mutants("src/domain/core/ed25519.ts", REFUSED, {
    "gasless-payer-signature": [
      "The payer signed this exact message.",
      "return verify(",
      "return true || verify(",
    ],
  }),
  ...mutants("src/payments/gasless/sponsor.ts", REFUSED, {
    "gasless-amount": [
      "A relayed transfer pays exactly the price of its quote.",
      "if (amount !== quote.price)",
      "if (false)",
    ],
    "gasless-memo-quote": [
      "A relayed transfer names the quote it pays.",
      "if (transaction.memo !== memo)",
      "if (false)",
    ],
  }),
  ...mutants("src/app/payments/gasless/transaction-submission.ts", STATES, {
    "relay-broadcast-before-send": [
      "A relayed payment is stored as broadcast before it is sent.",
      'const moved = await claims.move(claim.messageHash, "broadcast");',
      "const moved = true as boolean;",
    ],
  }),
  ...mutants("src/app/payments/gasless/transaction-submission.ts", ABSENT, {
    "relay-absent-is-no-end": [
      "A relayed payment missing from the chain has not failed while it can still land.",
      "if (outcome.expired) return",
      "if (true) return",
    ],
  }),
  ...mutants(sqlFile("functions/relay_claim.sql"), RELAYS, {
    "relay-message-once": [
      "A relayed message is claimed once.",
      "where message_hash = claim.message_hash;",
      "where message_hash = claim.message_hash and false;",
    ],
    "relay-one-after-the-other": [
      "Each claim of a day counts all earlier ones.",
      "where day = today for update;",
      "where day = today;",
    ],
    "relay-budget": [
      "The relay never exceeds its daily budget.",
      "if spent + claim.fee_lamports > daily_lamports then",
      "if false then",
    ],
    "relay-quota": [
      "An account's keys together never exceed its hourly relay quota.",
      "if found or per_key_hourly <= 0 then",
      "if per_key_hourly <= 0 then",
    ],
    "relay-lost-bounded": [
      "Failures on the chain are limited to two, and one more for each confirmed payment.",
      "if risk.lost >= 2 + risk.paid then",
      "if false then",
    ],
  }),
  ...mutants(sqlFile("functions/relay_move.sql"), RELAYS, {
    "relay-end-is-final": ["A relayed payment ends once.", "else false end", "else true end"],
  }),
  ...mutants(sqlFile("functions/relay_reject.sql"), RELAYS, {
    "relay-reject-unsent": [
      "A submitted payment is never rejected as unsent and keeps its fee.",
      "where message_hash = hash and state = 'claimed' for update;",
      "where message_hash = hash for update;",
    ],
  }),
  ...mutants("src/solana/payments/relay-chain.ts", "test/solana/payments/relay-chain.test.ts", {
    "relay-expired-everywhere": [
      "A relayed transaction has expired only if every endpoint says so.",
      "expired &&= outcome?.expired === true;",
      "expired ||= outcome?.expired === true;",
    ],
  }),
];
