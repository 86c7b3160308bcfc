import type { Mutant } from "./mutant.ts";

const RULES = "src/payments/gasless";
const SUBMISSION = "src/app/payments/gasless/transaction-submission.ts";
const RELAY = "src/app/payments/gasless/relay.ts";
const REFUSED = ["test/payments/gasless/refused.test.ts"];
const READING = ["test/payments/gasless/reading.test.ts"];
const STATES = ["test/app/payments/gasless/relay.test.ts"];

const SIGNER = ["test/gateway/external-signer.test.ts"];

/** Rules for transactions the gateway signs as fee payer, and their submission. */
export const GASLESS: readonly Mutant[] = [
  {
    name: "signer-verified",
    guard: "A wrong signature of an external signer is neither stored nor sent.",
    file: `${RULES}/external-signer.ts`,
    find: "if (!isSignedBy(this.publicKey, message, bytes))",
    replace: "if (false)",
    tests: SIGNER,
  },
  {
    name: "signer-after-rules",
    guard: "An external signer is asked only about payments that follow the rules.",
    file: `${RULES}/sponsor.ts`,
    find: "const { wire, ours } = this.#verify(bytes);",
    replace: "const wire = readTransaction(bytes), ours = true;",
    tests: SIGNER,
  },
  {
    name: "gasless-one-encoding",
    guard: "A relayed transaction has one encoding with all lengths in their shortest form.",
    file: `${RULES}/byte-reader.ts`,
    find: "if (index > 0 && byte === 0) throw",
    replace: "if (false) throw",
    tests: READING,
    only: "the wire form",
  },
  {
    name: "gasless-no-lookup-tables",
    guard: "A relayed transaction uses no lookup tables.",
    file: `${RULES}/wire-transaction.ts`,
    find: "if (lookups > 0) {",
    replace: "if (false) {",
    tests: REFUSED,
  },
  {
    name: "gasless-two-signers",
    guard: "The fee payer pays for two signatures.",
    file: `${RULES}/account-rules.ts`,
    find: "signatures.length !== 2",
    replace: "signatures.length < 2",
    tests: REFUSED,
  },
  {
    name: "gasless-fee-payer-idle",
    guard: "The fee payer takes part in no instruction.",
    file: `${RULES}/account-rules.ts`,
    find: "if (!accounts.includes(0)) return;",
    replace: "return;",
    tests: REFUSED,
  },
  {
    name: "gasless-guards-assert",
    guard: "Wallet guards only assert and cannot create or close accounts at the fee payer's cost.",
    file: `${RULES}/guards.ts`,
    find: "new Set([2, 3, ...OF_ACCOUNTS, 9, 10])",
    replace: "new Set([0, 1, 2, 3, ...OF_ACCOUNTS, 9, 10])",
    tests: REFUSED,
  },
  {
    name: "gasless-guards-timeless",
    guard: "No wallet guard depends on the clock.",
    file: `${RULES}/sponsor.ts`,
    find: "withoutGuards(wire, RELAYED_GUARDS)",
    replace: "withoutGuards(wire, new Set([15, ...RELAYED_GUARDS]))",
    tests: REFUSED,
  },
  {
    name: "gasless-guards-own-accounts",
    guard: "No wallet guard depends on accounts that others can change.",
    file: `${RULES}/guards.ts`,
    find: "if (more.length === 0 && (own ||",
    replace: "if (account !== undefined || (own ||",
    tests: REFUSED,
  },
  {
    name: "gasless-layout",
    guard: "A relayed transaction has exactly the four instructions of a payment.",
    file: `${RULES}/layout.ts`,
    find: "if (!LAYOUTS.has(order) ||",
    replace: "if (",
    tests: REFUSED,
  },
  {
    name: "gasless-compute-limit",
    guard: "The compute limit of a relayed transaction is bounded.",
    file: `${RULES}/compute-budget.ts`,
    find: "if (units > most)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "gasless-compute-price",
    guard: "The compute price of a relayed transaction is bounded.",
    file: `${RULES}/compute-budget.ts`,
    find: "if (bid > MAX_UNIT_PRICE)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "gasless-destination",
    guard: "A relayed transfer pays the treasury.",
    file: `${RULES}/transfer.ts`,
    find: "if (!same(destination, treasury.tokenAccount))",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "gasless-authority",
    guard: "The payer who signs is the authority of the transfer.",
    file: `${RULES}/transfer.ts`,
    find: "if (authority !== 1 || !payer)",
    replace: "if (!payer)",
    tests: REFUSED,
  },
  {
    name: "gasless-payer-signature",
    guard: "The payer signed this exact message.",
    file: "src/domain/core/ed25519.ts",
    find: "return verify(",
    replace: "return true || verify(",
    tests: REFUSED,
  },
  {
    name: "gasless-amount",
    guard: "A relayed transfer pays exactly the price of its quote.",
    file: `${RULES}/sponsor.ts`,
    find: "if (amount !== quote.price)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "gasless-memo-quote",
    guard: "A relayed transfer names the quote it pays.",
    file: `${RULES}/sponsor.ts`,
    find: "if (transaction.memo !== memo)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "relay-sent-is-waited-for",
    guard: "A submitted payment is not abandoned because a simulation fails.",
    file: SUBMISSION,
    find:
      'return (await claims.reject(claim.messageHash, reason)) ? { state: "failed", reason } : ' +
      "this.#reread(claim);",
    replace: 'await claims.move(claim.messageHash, "failed", reason); return { state: "failed", reason };',
    tests: STATES,
    only:
      "refuses a transaction that would fail, at no cost, and accepts another|waits for a sent payment " +
      "on an instance that expects it to fail|fetches a blockhash once for concurrent callers and again " +
      "after some s",
  },
  {
    name: "relay-broadcast-before-send",
    guard: "A relayed payment is stored as broadcast before it is sent.",
    file: SUBMISSION,
    find: 'const moved = await claims.move(claim.messageHash, "broadcast");',
    replace: "const moved = true as boolean;",
    tests: STATES,
    only:
      "waits for a sent payment on an instance that expects it to fail|returns PAYMENT_PENDING for a " +
      "sent payment, which keeps its quote|fetches a blockhash once for concurrent callers and again " +
      "after some s",
  },
  {
    name: "relay-absent-is-no-end",
    guard: "A relayed payment missing from the chain has not failed while it can still land.",
    file: SUBMISSION,
    find: "if (outcome.expired) return",
    replace: "if (true) return",
    tests: STATES,
    only: "does not land|refuses a payment after its quote expired",
  },
  {
    name: "relay-blockhash-valid",
    guard: "Nothing is claimed on an expired blockhash.",
    file: RELAY,
    find: "if (!valid) {",
    replace: "if (false) {",
    tests: STATES,
    only: "payments that are not sent",
  },
  {
    name: "relay-unsure-is-pending",
    guard: "A caller whose payment may be in flight is asked to repeat it and not to pay again.",
    file: RELAY,
    find: 'error instanceof ToolgateError && error.code === "UNAVAILABLE" ? paymentPending(error) : error',
    replace: "error",
    tests: STATES,
    only:
      "finishes a claim whose storing is uncertain, and returns PAYMENT_PENDI|fetches a blockhash once " +
      "for concurrent callers and again after some s",
  },
];
