import { mutants, type Mutant, type Tests } from "./mutant.ts";

const EVIDENCE_REFUSED = "test/solana/transactions/evidence-refused.test.ts";
const GASLESS_CALLS = "test/app/payments/gasless/gasless-calls.test.ts";
const RUN_AND_CAPTURE = "test/app/calls/run-and-capture.test.ts";
const EVIDENCE_MALFORMED = "test/solana/transactions/evidence-malformed.test.ts";
const BINDINGS: Tests = { files: ["test/attacks/bindings.test.ts"], only: "a proof and the quoted" };
const AMOUNTS: Tests = {
  files: ["test/attacks/amounts-and-times.test.ts"],
  only: "an (under|over)payment|older than its quote|a late payment.*(late by|in the last)",
};
const MEMOS: Tests = {
  files: ["test/attacks/memos.test.ts"],
  only: "a memo that contradicts the proof|two memos in our format",
};
const KEYLESS: Tests = {
  files: ["test/attacks/keyless.test.ts"],
  only: "those who know it from the chain only|the wallet of a blocked account|say that the route is off",
};
const CREDENTIALS: Tests = {
  files: ["test/attacks/payment-auth.test.ts"],
  only: "a credential changed in transit",
};
const FACILITATOR: Tests = {
  files: ["test/interop/x402-facilitator.test.ts"],
  only: "three instances at once|is refused for .*(the treasury|other terms)|needs the operator role",
};
const CLIENT_CHALLENGES: Tests = {
  files: ["test/client/payment-scheme.test.ts"],
  only: "a hostile challenge|keeps no API key",
};
const DEPOSITS: Tests = {
  files: ["test/crediting/wallet-payments.test.ts"],
  only: "refuses a deposit's transfer as a proof|treats a transfer with the deposit's reference",
};
const GAINS: Tests = { files: [EVIDENCE_REFUSED, "test/solana/transactions/evidence-of-payment.test.ts"] };

/** Quotes, proofs and what the chain shows of a payment. */
export const PAYMENTS: readonly Mutant[] = [
  ...mutants("src/postgres/database/database-clock.ts", "test/postgres/database/database-clock.test.ts", {
    "database-time": [
      "Quotes carry the database's time, so that they buy on every instance and fit the chain's.",
      "return this.#clock.now() - this.#correctionMs;",
      "return this.#clock.now();",
    ],
  }),
  ...mutants("src/domain/payments/quote.ts", "test/domain/payments/quote.test.ts", {
    "quote-sealed": ["A quote changed in any way does not open (its GCM tag).", ", decipher.final()]", "]"],
    "quote-binding": [
      "A quote is bound to the whole fingerprint of its call.",
      "fingerprint.copy(record, 34);",
      "fingerprint.copy(record, 34, 0, 16);",
    ],
  }),
  ...mutants("src/domain/payments/quote.ts", "test/cells/misroutes.test.ts", {
    "cell-quote": [
      "A cell opens no quote of another cell, also with the same secrets.",
      'sealed && !this.#cell.isForeign("quote", sealed.readUInt16BE(SEALED - CELL)) ? sealed : undefined',
      "sealed",
    ],
  }),
  ...mutants("src/app/payments/issued-challenge.ts", CREDENTIALS, {
    "challenge-binding": [
      "A credential answers a challenge of this gateway, with no parameter changed or left out.",
      "!quotes.isChallengeId(quote, boundParameters(challenge), challenge.id)",
      "false",
    ],
    "challenge-digest": [
      "A challenge buys with the body that it was issued for.",
      "contentDigest(body) !== challenge.digest",
      "false",
    ],
  }),
  ...mutants("src/domain/payments/payment-auth.ts", CREDENTIALS, {
    "challenge-splits": [
      "A credential of a split or confidential charge is refused by name.",
      "if (Object.hasOwn(details, name))",
      "if (false)",
    ],
  }),
  ...mutants("src/client/challenge.ts", CLIENT_CHALLENGES, {
    "client-challenge-price": [
      "The client pays no challenge whose price contradicts the offer of the answer.",
      "check(gateway.price === price,",
      "check(true,",
    ],
    "client-challenge-expiry": [
      "The client pays no expired challenge.",
      "expires === undefined || Date.parse(expires) > Date.now()",
      "true",
    ],
    "client-challenge-splits": [
      "The client signs no split charge.",
      "check(!(name in details), name,",
      "check(true, name,",
    ],
  }),
  ...mutants("src/client/captured-request.ts", CLIENT_CHALLENGES, {
    "client-secret-headers": [
      "The client writes no API key to its store.",
      '"sign-in-with-x", "x-api-key",',
      '"sign-in-with-x",',
    ],
  }),
  ...mutants("src/app/payments/gasless/relay.ts", FACILITATOR, {
    "facilitator-once": [
      "A payment of another service settles once.",
      "if (claim.quoteId !== quoteId)",
      "if (false)",
    ],
  }),
  ...mutants("src/app/payments/facilitator.ts", FACILITATOR, {
    "facilitator-treasury": [
      "The facilitator settles no payment to the treasury.",
      "if (recipient === treasury.owner)",
      "if (false)",
    ],
    "facilitator-terms": [
      "The facilitator settles what the payer has accepted.",
      "if (accepted[name] !== required[name])",
      "if (false)",
    ],
  }),
  ...mutants("src/transport/services/payments/facilitator-service.ts", FACILITATOR, {
    "facilitator-operator": [
      "The relay's fees are spent on other services by operators only.",
      "bind(FacilitatorService, OPERATOR,",
      "bind(FacilitatorService, { ...OPERATOR, operator: false },",
    ],
  }),
  ...mutants("src/app/payments/pay-quote.ts", BINDINGS, {
    "quote-account": [
      "A quote is valid for the quoted account only.",
      "if (quote.accountId !== buyer.quotedTo)",
      "if (false)",
    ],
    "quote-call": [
      "A quote is valid for the quoted tool and parameters only.",
      "if (!quote.fingerprint.equals(",
      "if (false && !quote.fingerprint.equals(",
    ],
  }),
  ...mutants("src/app/payments/pay-quote.ts", AMOUNTS, {
    "unfit-payment-credited": [
      "A payment that cannot buy its call is credited.",
      "const { credited } = await ledger.credit(accountId, transfer);",
      "const credited = true;",
    ],
  }),
  ...mutants("src/app/payments/pay-quote.ts", GASLESS_CALLS, {
    "extra-payment-not-made": [
      "A payment that comes with a charged call and is not made yet is not made for it.",
      "if (!payment.identified.made) return;",
      "",
    ],
  }),
  ...mutants("src/app/calls/buy-call.ts", BINDINGS, {
    "quoted-price": [
      "A paid call costs the quoted price, even if the current price differs.",
      "quote?.price ?? prepared.price",
      "prepared.price",
    ],
  }),
  ...mutants("src/app/calls/buy-call.ts", RUN_AND_CAPTURE, {
    "replay-before-expiry": [
      "A stored answer is returned before the quote and its age are checked.",
      'if (prior.kind === "replay") {',
      "if (false) {",
    ],
  }),
  ...mutants("src/app/calls/buy-call.ts", "test/app/calls/call-tool.test.ts", {
    "second-payment-credited": [
      "A payment sent with a call that was charged otherwise is credited.",
      "identified && prior.receipt?.txSignature !== identified.reference",
      "false",
    ],
  }),
  ...mutants("src/app/payments/chain-payment.ts", MEMOS, {
    "memo-quote": [
      "A payment buys only the call of the quote in its memo.",
      "if (memoQuoteId !== quote.quoteId)",
      "if (false)",
    ],
  }),
  ...mutants("src/app/payments/chain-payment.ts", AMOUNTS, {
    underpaid: [
      "A payment below the price does not buy the call.",
      "if (paid.amount < quote.price)",
      "if (false)",
    ],
    "older-than-quote": [
      "A transaction older than the quote does not pay it.",
      "if (paid.blockTime.getTime() < quote.issuedAt - CLUSTER_CLOCK_MS)",
      "if (false)",
    ],
    "late-by-the-chain": [
      "A transaction later than the quote by the chain's clock does not buy the call.",
      "paid.blockTime.getTime() > quote.expiresAt + CLUSTER_CLOCK_MS",
      "false",
    ],
  }),
  ...mutants("src/app/payments/chain-payment.ts", DEPOSITS, {
    "deposit-no-proof": [
      "A deposit cannot be the proof of a call.",
      'if (memo?.form === "deposit") throw',
      'if (memo?.form === "deposit" && false) throw',
    ],
  }),
  ...mutants("src/app/payments/chain-payment.ts", GASLESS_CALLS, {
    "gasless-pending": [
      "A submitted payment is pending, not missing, until the chain shows it.",
      'if (paidBy === "gasless")',
      "if (false)",
    ],
  }),
  ...mutants("src/app/payments/chain-lookup-limit.ts", "test/app/payments/chain-lookup-limit.test.ts", {
    "unknown-by-account": [
      "Each account has a limit on proofs that find nothing.",
      "if (left < 1) {",
      "if (false) {",
    ],
  }),
  ...mutants("src/app/calls/keyless.ts", KEYLESS, {
    "offer-token": [
      "A payment of a wallet without a key is accepted only from the recipient of its offer.",
      "if (!quote || (!challenge && !quotes.isOfferToken(quote, offerToken)))",
      "if (!quote)",
    ],
    "keyless-blocked": [
      "The wallet of a blocked account pays nothing.",
      "if (found?.blockedReason !== undefined)",
      "if (false)",
    ],
  }),
  ...mutants("src/app/calls/run-and-capture.ts", RUN_AND_CAPTURE, {
    "gone-after-start": [
      "A call whose caller disconnects during the tool completes and is stored.",
      "signal: deps.stopping,",
      "signal: context.signal,",
    ],
    "failure-releases": [
      "A failed tool is not charged and its hold is released.",
      "await ledger.release({ ...endOf(runId, failure), model });",
      "",
    ],
    "lost-run-withheld": [
      "The result of a run that was released meanwhile is not returned.",
      'if (captured.kind === "captured") {',
      'if (captured.kind === "lost") return { result };\n  if (captured.kind === "captured") {',
    ],
  }),
  ...mutants("src/solana/transactions/payment-memo.ts", EVIDENCE_MALFORMED, {
    "asked-transaction": [
      "An answer about another transaction is rejected.",
      "if (signatures[0] !== txSignature) {",
      "if (signatures.lastIndexOf(txSignature) > 0) {",
    ],
  }),
  ...mutants("src/solana/transactions/transaction-evidence.ts", EVIDENCE_REFUSED, {
    "transaction-succeeded": ["A failed transaction pays nothing.", "if (meta.err !== null)", "if (false)"],
    "gain-explained": [
      "Transfers must add up to the treasury's gain exactly.",
      "if (sum(incoming) !== gain.amount) {",
      "if (false) {",
    ],
  }),
  ...mutants("src/solana/transactions/token-transfers.ts", GAINS, {
    "gain-by-balance": [
      "The treasury's balance difference decides, not the instructions.",
      "amountOf(post) - amountOf(pre)",
      "amountOf(post)",
    ],
  }),
  ...mutants("src/solana/transactions/token-transfers.ts", EVIDENCE_REFUSED, {
    mint: ["The treasury's gain is in USDC.", "if (mint !== treasury.mint)", "if (false)"],
    "treasury-owner": [
      "The account that gained belongs to the treasury's owner.",
      "if (owner !== treasury.owner)",
      "if (false)",
    ],
    "treasury-account": [
      "The treasury's own token account gained, not another of its owner.",
      "keys.find(treasury.tokenAccount)",
      "(keys.find(treasury.tokenAccount) ?? " +
        "preTokenBalances.find((one) => one.owner === treasury.owner)?.accountIndex)",
    ],
  }),
  ...mutants("src/solana/transactions/token-transfers.ts", EVIDENCE_REFUSED, {
    "transfer-program": [
      "Only transfers of the Token program count.",
      "keys.at(instruction.programIdIndex) !== TOKEN_PROGRAM",
      "false",
    ],
  }),
  ...mutants("src/solana/transactions/transaction-json.ts", EVIDENCE_MALFORMED, {
    "looked-up-accounts": [
      "An answer without its looked-up accounts is rejected, since account indexes would shift.",
      "if (asked.writable !== writable.length || asked.readonly !== readonly.length)",
      "if (false)",
    ],
  }),
  ...mutants("src/solana/transactions/payment-memo.ts", MEMOS, {
    "memo-alone": [
      "A payment carries only one memo of ours.",
      "return others.length > 0 ?",
      "return false ?",
    ],
  }),
  ...mutants("src/solana/transactions/payment-memo.ts", EVIDENCE_REFUSED, {
    "memo-top-level": [
      "A memo written by another program does not count.",
      "return message.instructions",
      "return message.instructions.concat(arguments[0].meta.innerInstructions.flatMap((inner) => inner.instructions))",
    ],
  }),
  ...mutants("src/solana/payments/chain.ts", "test/solana/payments/chain-verify.test.ts", {
    "large-is-final": [
      "A large payment counts only when finalized.",
      "evidence.amount >= this.#rules.finalizedAbove",
      "false",
    ],
    "large-agreed": [
      "Two endpoints must agree on a large payment.",
      "if (again && !samePayment(first, again))",
      "if (false)",
    ],
  }),
  ...mutants("src/solana/transactions/transaction-reader.ts", "test/solana/payments/chain-failover.test.ts", {
    "unknown-everywhere": [
      "A transaction is unknown only if every endpoint lacks it.",
      "this.#rpc.endpoints.map((endpoint) => this.read(query, [endpoint]))",
      "this.#rpc.endpoints.slice(0, 1).map((endpoint) => this.read(query, [endpoint]))",
    ],
  }),
  ...mutants("src/solana/operations/startup-checks.ts", "test/solana/operations/startup-checks.test.ts", {
    cluster: [
      "Every endpoint serves Solana mainnet before the gateway sells anything.",
      "if (hash === MAINNET_GENESIS_HASH)",
      "if (true)",
    ],
  }),
];
