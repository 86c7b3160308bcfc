/** Where a test is: its file, from `test/` on, and a part of its title. */
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
const STANDINGS = "solana/treasury/finality-statuses.test.ts";
const ROLE = "security/serving-role.test.ts";
const SANDBOX = "tools/sandbox/gateway.test.ts";
const LOST = "instances/lost-responses.test.ts";

/** Row of docs/reference/decisions.md ("Proof", "Money", "Treasury") to the tests that show it. */
export const SHOWN: Readonly<Record<string, readonly Where[]>> = {
  "X-Payment": [
    [CLAIMS, "is refused with anything around or beside the proof"],
    [REPLAYS, "is answered from the store however its header is written"],
    ["domain/payments/proof.test.ts", "is read in base64 and base64url"],
  ],
  "`created_at` of lists": [
    ["postgres/ledger/lists.test.ts", "order runs and receipts by time despite differing instance clocks"],
  ],
  "an instance that stalls": [
    ["instances/stall.test.ts", "charges calls once that ran while the event loop stalled"],
    ["instances/stall.test.ts", "releases the runs of a permanently stalled instance"],
  ],
  "malformed `quote_id`": [
    [BINDINGS, "is no quote identifier"],
    [BINDINGS, "is none of ours, and nothing is looked up for it"],
  ],
  "proof and chain disagree": [
    [CLAIMS, "is refused: an amount of %s"],
    ["attacks/memos.test.ts", "names another account's quote: refused, and still good for its owner"],
  ],
  "payment credited before its proof": [
    [BEFORE, "buys its call all the same, and is credited and charged once"],
    [BEFORE, "buys it once when watcher and many callers come at once"],
  ],
  "price change between quote and payment": [
    [BINDINGS, "at the price that was quoted, whatever an instance charges by now"],
    [FAILURES, "keeps the quoted price, whatever an instance charges by now"],
  ],
  "x402 v1 payload in X-Payment": [
    [CLAIMS, "is refused with anything around or beside the proof"],
    [
      "domain/payments/proof.test.ts",
      "is told apart: a transaction of ours to send, or an x402 payload of version 1",
    ],
    [X402, "in version 1, and is answered in version 1"],
  ],
  'PAYMENT-SIGNATURE, `_meta["x402/payment"]`': [
    ["domain/payments/proof.test.ts", "is the same proof or no proof at all after any change of its text"],
    [CHANGED, "is refused: cut off anywhere"],
    [X402, "with a payload in _meta, as MCP clients of x402 send it"],
  ],
  "`accepted` of an x402 payload": [[CHANGED, "is refused: it takes an offer of another %s"]],
  "payment-identifier (x402 extension)": [
    [X402, "is known by its payment-identifier too, under which nothing else is sent"],
    [UNSENT, "uses the idempotency key of the x402 payload when the call has none"],
  ],
  "unsent transaction": [
    [UNSENT, "relays a payment for its quote and caller, and buys the call once"],
    [UNSENT, "accepts a quote in the short memo form, repeated by quote_id"],
    [CHANGED, "is refused under another account and for another call, and is not sent for them"],
    [CHANGED, "when it asks three instances at once: one charge, and never another offer"],
    [CHANGED, "is refused while the relay is off, and says what to do instead"],
  ],
  "unsent transaction, deadline": [
    [UNSENT, "accepts a payment claimed in time, however late the chain and the repeated call are"],
    [CHANGED, "when its quote has expired: nothing is sent"],
  ],
  "unsent transaction beside a charged call": [
    [UNSENT, "does not relay a payment for a call that was charged otherwise"],
  ],
  "several proof carriers": [
    [CLAIMS, "are refused when they name different payments or quotes"],
    [CLAIMS, "are one proof when they agree"],
  ],
  "deposit sent as a proof": [
    [WALLETS, "refuses a deposit's transfer as a proof with the reason, and keeps it a deposit"],
    [WALLETS, "treats a transfer with the deposit's reference and a quote's memo as a payment of the quote"],
  ],
  "body proof": [
    [CLAIMS, "is refused before anything is looked up: %s"],
    ["contract/tool-call-sold.test.ts", "accepts a proof in X-Payment, by either key, and in the body"],
  ],
  "memo on chain": [
    ["attacks/memos.test.ts", "is taken in %s, from both Memo programs"],
    ["attacks/memos.test.ts", "is refused: none at all"],
    ["attacks/memos.test.ts", "is refused: a memo that names a quote which nobody issued"],
    ["attacks/memos.test.ts", "are refused, so that one payment cannot pay two quotes"],
  ],
  "quote binding": [
    [BINDINGS, "and no other: signature, quote and memo are public"],
    [BINDINGS, "and not for %s"],
    [FAILURES, "keeps the key and the proof to their call"],
  ],
  evidence: [
    ["attacks/no-payment.test.ts", "%s is refused for what it is"],
    ["attacks/odd-payments.test.ts", "in several transfers, which count together and once"],
  ],
  commitment: [
    ["attacks/odd-payments.test.ts", "buys nothing while it can still be forked away, when it is large"],
    [TAKEN_BACK, "leaves the stored answer to every repeat"],
  ],
  "finality and expiry": [
    [`${CASES}/finality.test.ts`, "is pending until then, costs nothing meanwhile, and buys its call"],
    [`${CASES}/finality.test.ts`, "is late after that, and left to the watch"],
    [`${CASES}/finality.test.ts`, "has no time beyond its quote's"],
  ],
  "a proof never gets a quote": [
    [BEFORE, "is money like any other: once it is spent, the proof buys nothing"],
    [FAILURES, "without either is a new call, which the balance pays"],
  ],
  replay: [
    [REPLAYS, "is answered from the store however its header is written, and never charged again"],
    [REPLAYS, "tells another account nothing, under its own quote or the payer's"],
    [REPLAYS, "buys nothing under another quote of the account"],
    [REPLAYS, "is charged once under as many different keys"],
  ],
  "proof of an expired quote": [
    [AMOUNTS, "is told QUOTE_EXPIRED without a look at the chain, and credited once by the watch"],
    [`${CASES}/finality.test.ts`, "buys it up to two minutes after the quote's end"],
  ],
  "proofs that find nothing": [
    ["attacks/unknown-signatures.test.ts", "is limited, and payers are not"],
    [
      "app/payments/chain-lookup-limit.test.ts",
      "shares one budget among accounts without a receipt, and none for accounts with one",
    ],
    ["solana/payments/chain-verify.test.ts", "asked again soon it only polls with the others"],
  ],
  "every endpoint rate-limits": [
    ["solana/payments/chain-failover.test.ts", "the one whose pause ends first is asked once a second"],
  ],
  "one ledger": [
    [KEYS, "takes the proof that it brings, and leaves the balance alone"],
    ["instances/one-ledger.test.ts", "sell exactly seven of 200 calls to a balance for seven"],
  ],
  "under-, over-, late, duplicate payment": [
    [AMOUNTS, "is credited once and refused with both amounts"],
    [AMOUNTS, "made good by a second transfer buys the call from the balance"],
    [AMOUNTS, "buys the call at its price, and the rest stays"],
    [AMOUNTS, "is told QUOTE_EXPIRED without a look at the chain, and credited once by the watch"],
    [AMOUNTS, "is credited once and says so, and buys the next call from the balance"],
    [LOST, "has credited an underpayment once"],
    [LOST, "has credited a late payment once"],
  ],
  "second payment under the key of a charged call": [
    [AMOUNTS, "under the key of the first is a repeat of it, and is credited at once, once"],
    [AMOUNTS, "is credited, be it for another quote of that call, too little or too much"],
  ],
  "idempotency records": [
    [REPLAYS, "each key stands for the one answer"],
    [LOST, "has bound the new key of a replay to the call that the proof bought"],
    ["postgres/ledger/faults.test.ts", "expired claims"],
  ],
  "balance below zero": [
    [TAKEN_BACK, "is told what is missing and offered no quote, however often it asks"],
    [TAKEN_BACK, "gets the same error on every other transport"],
    [
      TAKEN_BACK,
      "has what it pays credited and is told so; once all is covered, the same proofs and keys work",
    ],
    [TAKEN_BACK, "lets the call end and tell its answer; the account owes it"],
  ],
  "proof of a reversed payment": [
    [TAKEN_BACK, "is refused under any key, tells the balance, and is not credited again"],
    [TAKEN_BACK, "because its tool failed, cannot be used for the retry"],
    [TAKEN_BACK, "leaves the stored answer to every repeat, whose receipt says it"],
  ],
  "sealing key rotation": [
    ["postgres/database/instance.test.ts", "activates a new sealing key after every instance knows it"],
    [BINDINGS, "that was paid stays answered after its sealing key has gone"],
  ],
  "price of inference": [
    [
      "tools/inference-chat/inference-chat.test.ts",
      "charges prompt bytes, 8 tokens per message, 64 per conversation",
    ],
    ["contract/tool-call-sold.test.ts", "sells inference by tokens"],
  ],
  "transfer without an owner": [
    [`${CASES}/suspense.test.ts`, "%s buys nothing before the operator has it, nor after"],
    [`${CASES}/suspense.test.ts`, "is nobody's also when another account names it"],
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
    [FAILURES, "leaves the money on the balance, a failed run and no receipt, and says so"],
    [FAILURES, "runs again %s, charged once, and then replays by each of them"],
    [FAILURES, "is UNAVAILABLE and says when to come back; nothing is charged"],
  ],
  "proof and enough balance": [
    [KEYS, "takes the proof that it brings, and leaves the balance alone"],
    [KEYS, "is refused for a bad proof, though the balance would do"],
    [KEYS, "takes the balance without one, to the last micro-USD"],
  ],
  "idempotency key": [
    [KEYS, "is 422 with a payment, which stays unused and buys the call under a new key"],
    [KEYS, "is 422 after the payment whatever comes with it"],
    [KEYS, "is the body's key by another name, with proof and without"],
    [KEYS, "is refused when the body has another one"],
    [KEYS, "is answered from the store, leaves one run and no receipt"],
    [FAILURES, "is told so by proof, by key and by both, costs nothing, and gets the result afterwards"],
  ],
  disconnect: [
    [DISCONNECTS, "while the tool runs has its call finished, charged once and kept for the retry"],
    [DISCONNECTS, "between the hold and the tool gets the hold back"],
    [DISCONNECTS, "while its transaction is waited for has consumed nothing"],
  ],
  prices: [
    [BINDINGS, "at the price that was quoted, whatever an instance charges by now"],
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
    ["solana/treasury/treasury-movement.test.ts", "names neither, and shows both"],
  ],
  "payment that vanished": [
    [STANDINGS, "has vanished once every endpoint is far beyond its slot"],
    [STANDINGS, "by not knowing it never makes it vanish"],
    [STANDINGS, "has failed when every endpoint says so, and is pending while one does not know it yet"],
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
    [TAKEN_BACK, "leaves the stored answer to every repeat, whose receipt says it, as do the lists"],
  ],
  refund: [
    [REFUNDS, "is told by its receipt, in the lists and in the stored answer; its run stays what it was"],
    [REFUNDS, "pays the next one from the balance, and is not refunded again with it"],
  ],
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
