/** A test: its file below `test/`, and a part of its title. */
export type Where = readonly [file: string, title: string];

const CASES = "attacks/money-cases";
const AMOUNTS = "attacks/amounts-and-times.test.ts";
const BINDINGS = "attacks/bindings.test.ts";
const BEFORE = "attacks/credited-before.test.ts";
const CLAIMS = "attacks/claims.test.ts";
const REPLAYS = "attacks/replays.test.ts";
const CHANGED = "attacks/x402-payments.test.ts";
const X402 = "interop/x402-clients.test.ts";
const UNSENT = "app/payments/gasless/gasless-calls.test.ts";
const FAILURES = `${CASES}/tool-failures.test.ts`;
const KEYS = `${CASES}/keys.test.ts`;
const DISCONNECTS = `${CASES}/disconnects.test.ts`;
const TAKEN_BACK = `${CASES}/taken-back.test.ts`;
const REFUNDS = `${CASES}/refunds.test.ts`;
const JOBS = "app/jobs";
const WATCH = `${JOBS}/watch-treasury.test.ts`;
const RESCAN = `${JOBS}/rescan-history.test.ts`;
const DEPOSITS = "crediting/unproved-payments.test.ts";
const ENDPOINTS = "crediting/endpoints.test.ts";
const VANISHED = "crediting/vanished-payments.test.ts";
const CONSOLE = "crediting/deposits.test.ts";
const WALLETS = "crediting/wallet-payments.test.ts";
const FINALITY = "solana/treasury/finality-statuses.test.ts";
const ROLE = "security/serving-role.test.ts";
const KEYLESS = "attacks/keyless.test.ts";
const SIGN_INS = "attacks/wallet-sign-in.test.ts";
const SIGNED = "interop/x402-offer-receipt.test.ts";
const SIGNING = "transport/x402/offer-receipt.test.ts";
const SANDBOX = "tools/sandbox/gateway.test.ts";
const LOST = "instances/lost-responses.test.ts";

/** Row of docs/reference/decisions.md ("Proof", "Money", "Treasury") to the tests that show it. */
export const SHOWN: Readonly<Record<string, readonly Where[]>> = {
  "X-Payment": [
    [CLAIMS, "refuses an X-Payment header with anything around or beside the proof"],
    [REPLAYS, "returns the stored answer for any encoding of the header, and never charges again"],
    [
      "domain/payments/proof.test.ts",
      "is parsed as base64 and base64url, with and without padding, with either key",
    ],
  ],
  "`created_at` of lists": [
    ["postgres/ledger/lists.test.ts", "order runs and receipts by time despite differing instance clocks"],
  ],
  "an instance that stalls": [
    ["instances/stall.test.ts", "charges calls once that ran while the event loop stalled"],
    ["instances/stall.test.ts", "releases the runs of a permanently stalled instance"],
  ],
  "malformed `quote_id`": [
    [BINDINGS, "rejects %s as a quote id"],
    [BINDINGS, "refuses a quote id with any byte changed, without a lookup"],
  ],
  "proof and chain disagree": [
    [CLAIMS, "refuses a body proof with an amount of %s"],
    [
      "attacks/memos.test.ts",
      "refuses a memo with another account's quote, which stays payable for that account",
    ],
  ],
  "payment credited before its proof": [
    [BEFORE, "lets a credited payment buy its call, credited and charged once"],
    [BEFORE, "charges once when the watch and many callers present a payment concurrently"],
  ],
  "price change between quote and payment": [
    [BINDINGS, "charges the quoted price when the price has changed"],
    [FAILURES, "keeps the quoted price when the instance's price has changed"],
  ],
  "x402 v1 payload in X-Payment": [
    [CLAIMS, "refuses an X-Payment header with anything around or beside the proof"],
    [
      "domain/payments/proof.test.ts",
      "is recognised as a transaction to relay or as an x402 payload of version 1",
    ],
    [X402, "buys a call in version 1 and gets a version 1 response"],
  ],
  'PAYMENT-SIGNATURE, `_meta["x402/payment"]`': [
    ["domain/payments/proof.test.ts", "is the same proof or none after any change of its text"],
    [CHANGED, "is refused when it is cut off anywhere"],
    [X402, "buys a call with a payload in _meta, as x402's MCP clients send it"],
  ],
  "`accepted` of an x402 payload": [[CHANGED, "is refused when it accepts an offer of another %s"]],
  "payment-identifier (x402 extension)": [
    [X402, "is identified by its payment-identifier, under which nothing else is accepted"],
    [UNSENT, "uses the idempotency key of the x402 payload when the call has none"],
  ],
  "unsent transaction": [
    [UNSENT, "relays a payment for its quote and caller, and buys the call once"],
    [UNSENT, "accepts a quote in the short memo form, repeated by quote_id"],
    [CHANGED, "is refused and not sent for another account or another call"],
    [CHANGED, "is charged once and gets no second offer when it calls three instances concurrently"],
    [CHANGED, "is refused with advice while the relay is off"],
  ],
  "unsent transaction, deadline": [
    [UNSENT, "accepts a payment claimed in time, however late the chain and the repeated call are"],
    [CHANGED, "sends nothing when its quote has expired"],
  ],
  "unsent transaction beside a charged call": [
    [UNSENT, "does not relay a payment for a call that was charged otherwise"],
  ],
  "several proof carriers": [
    [CLAIMS, "refuses header and body proofs that name different payments or quotes"],
    [CLAIMS, "accepts header and body proofs that agree"],
  ],
  "deposit sent as a proof": [
    [WALLETS, "refuses a deposit's transfer as a proof with the reason, and keeps it a deposit"],
    [WALLETS, "treats a transfer with the deposit's reference and a quote's memo as a payment of the quote"],
  ],
  "body proof": [
    [CLAIMS, "refuses a body proof before any lookup: %s"],
    ["contract/tool-call-sold.test.ts", "accepts a proof in X-Payment, by either key, and in the body"],
  ],
  "memo on chain": [
    ["attacks/memos.test.ts", "accepts a memo in %s, from both Memo programs, beside other memos"],
    ["attacks/memos.test.ts", "refuses a payment without a memo"],
    ["attacks/memos.test.ts", "refuses a memo with a quote that was never issued"],
    ["attacks/memos.test.ts", "refuses two memos, so that one payment cannot pay two quotes"],
  ],
  "quote binding": [
    [BINDINGS, "refuses another account's proof, although signature, quote and memo are public"],
    [BINDINGS, "refuses a proof for %s"],
    [FAILURES, "binds the key and the proof to their call"],
  ],
  evidence: [
    ["attacks/no-payment.test.ts", "refuses %s with the reason"],
    ["attacks/odd-payments.test.ts", "buys the call once with several transfers, which are summed"],
  ],
  commitment: [
    ["attacks/odd-payments.test.ts", "buys nothing while a large payment can still be forked away"],
    [TAKEN_BACK, "keeps the stored answer of the call, with the reversal in its receipt and in lists"],
  ],
  "finality and expiry": [
    [
      `${CASES}/finality.test.ts`,
      "returns PAYMENT_PENDING until finality, then buys the call although the quote has expired",
    ],
    [
      `${CASES}/finality.test.ts`,
      "returns QUOTE_EXPIRED more than two minutes after the expiry, and leaves the credit to the watch",
    ],
    [`${CASES}/finality.test.ts`, "gets no grace period after its quote's expiry"],
  ],
  "a proof never gets a quote": [
    [BEFORE, "refuses the proof of a credited payment once the balance is spent, until there is money again"],
    [
      FAILURES,
      "treats a call without key and proof as new, paid from the balance; the spent proof is refused",
    ],
  ],
  replay: [
    [REPLAYS, "returns the stored answer for any encoding of the header, and never charges again"],
    [REPLAYS, "reveals nothing to another account, under its own quote or the payer's"],
    [REPLAYS, "buys nothing under another quote of the account"],
    [REPLAYS, "is charged once under different keys, and every key returns the same answer"],
  ],
  "proof of an expired quote": [
    [AMOUNTS, "returns QUOTE_EXPIRED for a late payment without a chain query; the watch credits it once"],
    [`${CASES}/finality.test.ts`, "buys the call up to two minutes after the quote's expiry"],
  ],
  "proofs that find nothing": [
    [
      "attacks/unknown-signatures.test.ts",
      "limits an account that sends unknown transactions, and no paying account",
    ],
    [
      "app/payments/chain-lookup-limit.test.ts",
      "shares one budget among accounts without a receipt, and none for accounts with one",
    ],
    [
      "solana/payments/chain-verify.test.ts",
      "gives up after the wait; soon after, it polls with the others and finds what has landed",
    ],
  ],
  "every endpoint rate-limits": [
    [
      "solana/payments/chain-failover.test.ts",
      "that all asked for a pause are polled once a second, and used again once healthy",
    ],
  ],
  "one ledger": [
    [KEYS, "uses the call's proof and leaves the balance unchanged"],
    ["instances/one-ledger.test.ts", "sell exactly seven of 200 calls to a balance for seven"],
  ],
  "under-, over-, late, duplicate payment": [
    [AMOUNTS, "credits an underpayment once and names both amounts, however often it is presented"],
    [AMOUNTS, "pays the call from the balance after a second transfer covers an underpayment"],
    [AMOUNTS, "charges the price of an overpaid call and keeps the rest on the balance"],
    [AMOUNTS, "returns QUOTE_EXPIRED for a late payment without a chain query; the watch credits it once"],
    [AMOUNTS, "credits a second payment of a quote once, and pays the next call with it"],
    [LOST, "has credited an underpayment once"],
    [LOST, "has credited a late payment once"],
  ],
  "second payment under the key of a charged call": [
    [AMOUNTS, "treats a second payment under the first one's key as a repeat, and credits it once"],
    [AMOUNTS, "credits a payment under the key of a charged call, also for another quote or amount"],
  ],
  "idempotency records": [
    [REPLAYS, "is charged once under different keys, and every key returns the same answer"],
    [LOST, "has bound the new key of a replay to the call that the proof bought"],
    ["postgres/ledger/faults.test.ts", "expired claims"],
  ],
  "balance below zero": [
    [TAKEN_BACK, "returns the missing amount without a quote; free calls work"],
    [TAKEN_BACK, "gets the same error on every other transport"],
    [TAKEN_BACK, "credits payments of the account, and accepts its proofs and keys once the debt is covered"],
    [TAKEN_BACK, "finishes and returns the call, and makes the balance negative"],
  ],
  "proof of a reversed payment": [
    [TAKEN_BACK, "refuses a reversed payment under any key with the balance, and does not credit it again"],
    [TAKEN_BACK, "refuses a reversed payment for the retry of a failed tool"],
    [TAKEN_BACK, "keeps the stored answer of the call, with the reversal in its receipt and in lists"],
  ],
  "sealing key rotation": [
    ["postgres/database/instance.test.ts", "activates a new sealing key after every instance knows it"],
    [BINDINGS, "returns the stored answer of a paid quote after its sealing key is gone"],
  ],
  "price of inference": [
    [
      "tools/inference-chat/inference-chat.test.ts",
      "charges prompt bytes, 8 tokens per message, 64 per conversation",
    ],
    ["contract/tool-call-sold.test.ts", "charges inference by tokens and returns the text in `content`"],
  ],
  "transfer without an owner": [
    [`${CASES}/suspense.test.ts`, "%s buys no call before or after the operator assigns it"],
    [`${CASES}/suspense.test.ts`, "stays in suspense when another account names it"],
  ],
  deposit: [
    [CONSOLE, "shows a deposit as seen, confirmed and finalized, and credits it once"],
    [CONSOLE, "credits the sum of several transfers from any wallet"],
    [CONSOLE, "credits a deposit of a blocked account"],
    [CONSOLE, "shows a vanished transfer as awaited again and never credits it"],
    [CONSOLE, "does not credit a vanished transfer that one node called finalized"],
  ],
  "transfer that does not name its deposit": [
    [CONSOLE, "holds a transfer with the reference but no memo in suspense until the operator assigns it"],
    [CONSOLE, "credits the deposit of the memo, not the deposit of the reference"],
    [CONSOLE, "holds a transfer that names an unknown deposit, or two, in suspense"],
  ],
  "hold before execute": [
    ["instances/crash.test.ts", "leaves the call to a retry elsewhere"],
    [LOST, "has charged a call, and the retry elsewhere replays it at once"],
    [LOST, "has credited and held a payment once"],
  ],
  "tool failed after payment": [
    [FAILURES, "keeps the money on the balance, records a failed run without a receipt and says so"],
    [FAILURES, "runs the call again %s, charges once, and then replays it by key and by proof"],
    [FAILURES, "returns UNAVAILABLE with a retry delay, charges nothing, and accepts the proof later"],
  ],
  "proof and enough balance": [
    [KEYS, "uses the call's proof and leaves the balance unchanged"],
    [KEYS, "refuses a bad proof although the balance would suffice"],
    [KEYS, "spends the balance to the last micro-USD, then offers a quote with both amounts"],
  ],
  "idempotency key": [
    [KEYS, "returns 422 for a reused key and leaves the payment for a new key"],
    [KEYS, "returns 422 for a reused key after the payment, and keeps the key for its first call"],
    [KEYS, "treats the Idempotency-Key header as the body's key, with and without a proof"],
    [KEYS, "refuses a header key that differs from the body's key before verifying the payment"],
    [KEYS, "stores the answer of a free call with one run and no receipt, and reserves the key"],
    [FAILURES, "returns REQUEST_IN_PROGRESS by proof, by key and by both, and the result afterwards"],
  ],
  disconnect: [
    [DISCONNECTS, "finishes, charges and stores the call when its caller disconnects while the tool runs"],
    [
      DISCONNECTS,
      "releases the hold when the caller disconnects before the tool; the retry needs no second payment",
    ],
    [DISCONNECTS, "consumes nothing when the caller disconnects while its transaction is awaited"],
  ],
  prices: [
    [BINDINGS, "charges the quoted price when the price has changed"],
    ["tools/prices.test.ts", "has defaults for all settings"],
  ],
  "one leader": [
    ["instances/leader.test.ts", "is replaced when killed; a deposit made meanwhile is credited once"],
    ["instances/leader.test.ts", "is replaced when stalled"],
    ["instances/leader.test.ts", "resigns on SIGTERM"],
    [`${JOBS}/crashes.test.ts`, "reaches the same ledger state as two concurrent leaders"],
  ],
  polling: [
    [WATCH, "records each movement once and oldest first, including late ones of a known slot"],
    [DEPOSITS, "finds payments made while no instance ran, once"],
    [`${JOBS}/crashes.test.ts`, "leaves the same ledger state to the next leader when it dies at any step"],
  ],
  "opening balance": [
    [WATCH, "assigns the balance before the installation to the operator and records everything after it"],
    [
      "postgres/treasury/treasury-watch.test.ts",
      "starts once, and books the opening balance to the operator",
    ],
  ],
  rescan: [
    [RESCAN, "records what the first endpoint omitted and logs which endpoint had it"],
    [ENDPOINTS, "logs that the first endpoint omits recorded transactions"],
  ],
  reconciliation: [
    [
      RESCAN,
      "rereads the whole history from another endpoint once an hour and finds what the first one omits",
    ],
    [ENDPOINTS, "logs a lasting difference between chain and ledger, and its end"],
  ],
  "payment sent and never proved": [
    [DEPOSITS, "credits the account of its quote after finality, which pays the next call"],
    [DEPOSITS, "buys its call when the proof arrives later, and is credited once"],
    [WATCH, "credits a payment whose quote has expired"],
  ],
  withdrawal: [[DEPOSITS, "records a withdrawal by the treasury's owner"]],
  suspense: [
    ["cli/treasury.test.ts", "lists a transfer without a quote and assigns it once"],
    ["cli/pay.test.ts", "pays without a quote, with or without memo, into suspense"],
    [
      "solana/treasury/treasury-movement.test.ts",
      "names no quote when it has two memos in our format, and shows both",
    ],
  ],
  "payment that vanished": [
    [FINALITY, "is vanished once every endpoint is far beyond its slot"],
    [FINALITY, "does not make a payment vanish by not knowing it"],
    [FINALITY, "is failed when every endpoint says so, and pending while one does not know it"],
    [VANISHED, "reverses a vanished payment, blocks paid calls and reinstates it when it lands"],
  ],
  "vanished payment that lands after all": [
    [VANISHED, "reverses a vanished payment, blocks paid calls and reinstates it when it lands"],
    [WATCH, "reinstates a payment that had been reversed"],
  ],
  "finalized with another amount": [
    [`${JOBS}/finality-tracker.test.ts`, "reports a payment of another amount once and does not change it"],
  ],
  "receipt of a reversed payment": [
    [TAKEN_BACK, "keeps the stored answer of the call, with the reversal in its receipt and in lists"],
  ],
  refund: [
    [
      REFUNDS,
      "shows the refund in the receipt, in lists and in the stored answer, and keeps the run unchanged",
    ],
    [REFUNDS, "pays the next call with the refund, which is not refunded again"],
  ],
  "`POST /x402/{tool}`": [
    [KEYLESS, "is bought by the official client with a wallet and no SOL, for the wallet's account"],
    [KEYLESS, "buys one call when 60 requests race on three instances"],
  ],
  "quote for no account": [
    [KEYLESS, "buys no other tool, no other params, and nothing with an API key"],
    [KEYLESS, "returns nothing to those who know it from the chain only"],
  ],
  "free tools without a key": [
    [KEYLESS, "is refused for free tools, unknown tools, other proofs and large parameters"],
    [SIGN_INS, "gets an offer when its balance is too low, and calls free tools"],
  ],
  "SIGN-IN-WITH-X (x402 extension)": [
    [SIGN_INS, "spends once, on whichever instance"],
    [SIGN_INS, "spends on the tool that it names only"],
    [SIGN_INS, "reads its receipts and runs, more than once with one signature"],
    [SIGN_INS, "is refused with an expired or future nonce, or one of another purpose"],
  ],
  "`/v1/keys`": [
    [SIGN_INS, "are created, used, listed, changed and revoked with signed challenges of 401 answers"],
    [SIGN_INS, "are not created, listed or revoked with an API key"],
    [SIGN_INS, "are created once with one signature, which was made for this path"],
    [SIGN_INS, "are revoked by their own wallet, with a signature for that key"],
  ],
  "offer-receipt (x402 extension)": [
    [SIGNED, "is signed by a key of the gateway's domain, and repeats its terms"],
    [SIGNED, "is not sent for calls with an API key, whose receipts are stored for the account"],
  ],
  "cost of a signed offer": [
    [SIGNING, "share one signature per resource, amount and tenth of a lifetime"],
    [SIGNING, "are left out above 100 new signatures a second, but known ones are sent"],
  ],
  "offer too long to come back in PAYMENT-SIGNATURE": [
    ["transport/x402/offers.test.ts", "fits into PAYMENT-SIGNATURE %s, signed"],
  ],
  "key of signatures": [
    [SIGNED, "of the signing key keeps older receipts valid until the old key is retired by force"],
    [
      SIGNED,
      "is rejected when another key signed it, under a key of the gateway or one that it does not list",
    ],
  ],
  "signed receipt": [
    [SIGNED, "names the payer, the resource and the payment, and fits the offer"],
    [SIGNED, "does not come with a call that another payment under the same payment-identifier bought"],
    [SIGNING, "are not made of a %s call"],
  ],
  "sign-in beside PAYMENT-SIGNATURE": [[SIGN_INS, "stays unused beside a payment, which buys the call"]],
  "serving role": [
    [ROLE, "cannot change, truncate or lock any table"],
    [ROLE, "inserts into listed tables only, and never a balance"],
    ["security/start-warnings.test.ts", "doctor warns about a superuser without a problem"],
  ],
  metrics: [
    ["metrics/gateway.test.ts", "serves metrics on their own port only"],
    [
      "metrics/gateway.test.ts",
      "names METRICS_PORT when the port is taken, and serves no metrics without it",
    ],
  ],
  "guest code that fails in sandbox_execute": [
    [SANDBOX, "returns a charged result for code that %s"],
    [SANDBOX, "queue, can be cancelled there free of charge"],
    ["instances/sandbox-cancel.test.ts", "ends code with its killed instance"],
  ],
};
