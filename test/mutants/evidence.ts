import type { Mutant } from "./mutant.ts";

const JUDGED = "src/solana/transactions/transaction-evidence.ts";
const OPENED = "src/solana/transactions/transaction-opening.ts";
const GAIN = "src/solana/transactions/treasury-gain.ts";
const MEMO = "src/solana/transactions/payment-memo.ts";
const CHAIN = "src/solana/payments/chain.ts";
const READER = "src/solana/transactions/transaction-reader.ts";
const REFUSED = ["test/solana/transactions/evidence-refused.test.ts"];
const MALFORMED = ["test/solana/transactions/evidence-malformed.test.ts"];
const VERIFIED = ["test/solana/payments/chain-verify.test.ts"];
const FAILOVER = ["test/solana/payments/chain-failover.test.ts"];
const STARTUP = ["test/solana/operations/startup-checks.test.ts"];

/** Evidence a transaction needs before it counts as a payment. */
export const EVIDENCE: readonly Mutant[] = [
  {
    name: "first-signature",
    guard: "A transaction is identified by its first signature only.",
    file: OPENED,
    find: "if (signatures[0] !== txSignature) {",
    replace: "if (!signatures.includes(txSignature)) {",
    tests: REFUSED,
  },
  {
    name: "asked-transaction",
    guard: "An answer about another transaction is rejected.",
    file: OPENED,
    find: "if (signatures[0] !== txSignature) {",
    replace: "if (signatures.lastIndexOf(txSignature) > 0) {",
    tests: MALFORMED,
  },
  {
    name: "transaction-succeeded",
    guard: "A failed transaction pays nothing.",
    file: JUDGED,
    find: "if (meta.err !== null)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "gain-explained",
    guard: "Transfers must add up to the treasury's gain exactly.",
    file: JUDGED,
    find: "if (sum(incoming) !== gain.amount) {",
    replace: "if (false) {",
    tests: REFUSED,
  },
  {
    name: "gain-by-balance",
    guard: "The treasury's balance difference decides, not the instructions.",
    file: GAIN,
    find: "amountOf(post) - amountOf(pre)",
    replace: "amountOf(post)",
    tests: [...REFUSED, "test/solana/transactions/evidence-of-payment.test.ts"],
  },
  {
    name: "mint",
    guard: "The treasury's gain is in USDC.",
    file: GAIN,
    find: "if (mint !== treasury.mint)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "token-program",
    guard: "The treasury's gain is a token of the SPL Token program.",
    file: GAIN,
    find: "if (programId !== TOKEN_PROGRAM)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "treasury-owner",
    guard: "The account that gained belongs to the treasury's owner.",
    file: GAIN,
    find: "if (owner !== treasury.owner)",
    replace: "if (false)",
    tests: REFUSED,
  },
  {
    name: "treasury-account",
    guard: "The treasury's own token account gained, not another of its owner.",
    file: GAIN,
    find: "keys.find(treasury.tokenAccount)",
    replace:
      "(keys.find(treasury.tokenAccount) ?? preTokenBalances.find((one) => one.owner === " +
      "treasury.owner)?.accountIndex)",
    tests: REFUSED,
  },
  {
    name: "transfer-program",
    guard: "Only transfers of the Token program count.",
    file: "src/solana/transactions/token-transfers.ts",
    find: "keys.at(instruction.programIdIndex) !== TOKEN_PROGRAM",
    replace: "false",
    tests: REFUSED,
  },
  {
    name: "looked-up-accounts",
    guard: "An answer without its looked-up accounts is rejected, since account indexes would shift.",
    file: "src/solana/transactions/account-keys.ts",
    find: "if (asked.writable !== writable.length || asked.readonly !== readonly.length)",
    replace: "if (false)",
    tests: MALFORMED,
  },
  {
    name: "memo-required",
    guard: "A payment carries a memo of ours.",
    file: MEMO,
    find: "written.length === 0 ? refusal.memoMissing(prefix) :",
    replace: 'written.length === 0 ? { kind: "memo", text: "" } :',
    tests: REFUSED,
  },
  {
    name: "memo-alone",
    guard: "A payment carries only one memo of ours.",
    file: MEMO,
    find: "return others.length > 0 ?",
    replace: "return false ?",
    tests: REFUSED,
  },
  {
    name: "memo-program",
    guard: "The memo is written by a Memo program.",
    file: MEMO,
    find: "MEMO_PROGRAMS.has(keys.at(programIdIndex))",
    replace: 'keys.at(programIdIndex) !== ""',
    tests: REFUSED,
  },
  {
    name: "memo-top-level",
    guard: "A memo written by another program does not count.",
    file: MEMO,
    find: "return message.instructions",
    replace:
      "return [...message.instructions, ...(arguments[0].meta?.innerInstructions ?? " +
      "[]).flatMap((inner) => inner.instructions)]",
    tests: REFUSED,
  },
  {
    name: "memo-exact",
    guard: "A memo is compared byte by byte, including a byte order mark.",
    file: MEMO,
    find: "ignoreBOM: true",
    replace: "ignoreBOM: false",
    tests: REFUSED,
  },
  {
    name: "large-is-final",
    guard: "A large payment counts only when finalized.",
    file: CHAIN,
    find: "evidence.amount >= this.#rules.finalizedAbove",
    replace: "false",
    tests: VERIFIED,
  },
  {
    name: "large-agreed",
    guard: "Two endpoints must agree on a large payment.",
    file: CHAIN,
    find: "if (again && !samePayment(first, again))",
    replace: "if (false)",
    tests: VERIFIED,
  },
  {
    name: "unknown-everywhere",
    guard: "A transaction is unknown only if every endpoint lacks it.",
    file: READER,
    find: "this.#rpc.endpoints.map((endpoint) => this.read(query, [endpoint]))",
    replace: "this.#rpc.endpoints.slice(0, 1).map((endpoint) => this.read(query, [endpoint]))",
    tests: FAILOVER,
  },
  {
    name: "outage-no-verdict",
    guard: "A transaction is not unknown while an endpoint does not answer.",
    file: READER,
    find: 'if (answer.status === "rejected") throw answer.reason',
    replace: "void answer",
    tests: FAILOVER,
  },
  {
    name: "absent-still",
    guard: "A transaction stays unknown only after every endpoint says so again.",
    file: CHAIN,
    find: "unseen && searched.size === this.rpc.endpoints.length",
    replace: "absent",
    tests: FAILOVER,
  },
  {
    name: "refusal-expires",
    guard: "A refused transaction is checked again later, since it may land after a fork.",
    file: "src/solana/payments/refusal-cache.ts",
    find: "known.until > this.#clock.now()",
    replace: "true",
    tests: ["test/solana/payments/refusal-cache.test.ts"],
  },
  {
    name: "cluster",
    guard: "Every endpoint serves Solana mainnet before the gateway sells anything.",
    file: "src/solana/operations/startup-checks.ts",
    find: "if (hash === MAINNET_GENESIS_HASH)",
    replace: "if (true)",
    tests: STARTUP,
  },
  {
    name: "treasury-handed-over",
    guard: "The treasury's token account belongs to its owner before the gateway sells anything.",
    file: "src/solana/operations/startup-checks.ts",
    find: "if (owner !== treasury.owner)",
    replace: "if (false)",
    tests: STARTUP,
  },
];
