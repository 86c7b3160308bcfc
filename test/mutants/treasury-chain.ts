import type { Mutant } from "./mutant.ts";

const STATUSES = "src/solana/treasury/finality-statuses.ts";
const HISTORY = "src/solana/treasury/signature-history.ts";
const MOVEMENT = "src/solana/treasury/treasury-movement.ts";
const WATCH = "src/app/jobs/watch-treasury.ts";
const STATUS_TESTS = ["test/solana/treasury/finality-statuses.test.ts"];
const HISTORIES = ["test/solana/treasury/signature-history.test.ts"];
const MOVES = ["test/solana/treasury/treasury-movement.test.ts"];
const WATCHED = ["test/app/jobs/watch-treasury.test.ts"];

/** The treasury's history on the chain: vanished payments, gaps, owners. */
export const TREASURY_CHAIN: readonly Mutant[] = [
  {
    name: "vanished-asked-everywhere",
    guard: "A payment has vanished only if every endpoint answers.",
    file: STATUSES,
    find: "if (reports.length < this.#options.rpc.endpoints.length)",
    replace: "if (false)",
    tests: STATUS_TESTS,
  },
  {
    name: "vanished-denied-everywhere",
    guard: "A payment has vanished only if every endpoint denies it.",
    file: STATUSES,
    find: "if (disproofs.includes(undefined))",
    replace: "if (disproofs.every((disproof) => disproof === undefined))",
    tests: STATUS_TESTS,
  },
  {
    name: "vanished-far-behind",
    guard: "A payment has vanished only when it can no longer land.",
    file: STATUSES,
    find: "if (finalizedSlot <= slot + SAFE_SLOTS)",
    replace: "if (false)",
    tests: STATUS_TESTS,
  },
  {
    name: "vanished-without-a-trace",
    guard: "A payment without a status has not vanished while the transaction is known.",
    file: STATUSES,
    find: 'known === null ? "vanished" : undefined',
    replace: 'known === undefined ? undefined : "vanished"',
    tests: STATUS_TESTS,
  },
  {
    name: "failed-by-transaction",
    guard: "A payment has failed only if the transaction itself says so.",
    file: STATUSES,
    find: 'opened && opened.meta.err !== null ? "failed" : undefined',
    replace: '"failed"',
    tests: STATUS_TESTS,
  },
  {
    name: "finalized-by-transaction",
    guard: "A status alone does not finalize a payment.",
    file: STATUSES,
    find: "if (!reading) continue;",
    replace: 'if (!reading) return "finalized";',
    tests: STATUS_TESTS,
  },
  {
    name: "finalized-as-credited",
    guard: "A payment is finalized with the credited amount.",
    file: STATUSES,
    find: "reading.movement.change === payment.amount",
    replace: "reading.movement.change !== 0n",
    tests: STATUS_TESTS,
  },
  {
    name: "history-to-its-beginning",
    guard: "A node that prunes old history is not trusted about its beginning.",
    file: HISTORY,
    find: "await requireBeginning(endpoint, query);",
    replace: "",
    tests: HISTORIES,
  },
  {
    name: "history-goes-on",
    guard: "A node that lost its cursor is not trusted about the end of the history.",
    file: HISTORY,
    find: "page.shift()?.txSignature !== last.txSignature",
    replace: "page.shift() === null",
    tests: HISTORIES,
  },
  {
    name: "history-in-order",
    guard: "A history out of order is rejected.",
    file: HISTORY,
    find: "if (slot !== undefined && entry.slot > slot)",
    replace: "if (false)",
    tests: HISTORIES,
  },
  {
    name: "movement-one-memo",
    guard: "A movement with two memos of ours matches neither.",
    file: MOVEMENT,
    find: "ours.length === 1 &&",
    replace: "",
    tests: MOVES,
  },
  {
    name: "movement-own-account",
    guard: "A transfer to a treasury account that changed its owner is not credited.",
    file: MOVEMENT,
    find: "&& before.own && after.own",
    replace: "",
    tests: ["test/solana/treasury/movement-ownership.test.ts"],
  },
  {
    name: "watch-whole-slot",
    guard: "The last slot is read again, since a node may return it in part.",
    file: WATCH,
    find: "fromSlot: slot, fromTime",
    replace: "fromSlot: slot + 1n, fromTime",
    tests: WATCHED,
  },
  {
    name: "watch-opening",
    guard: "What the treasury held before the installation belongs to the operator.",
    file: WATCH,
    find: "(await chain.movement(before.txSignature, signal)).balanceAfter",
    replace: "0n",
    tests: WATCHED,
  },
  {
    name: "watch-waits-for-the-rest",
    guard: "The treasury cursor moves only after everything was recorded.",
    file: "src/app/jobs/record-history.ts",
    find: "if (failures.length > 0) {",
    replace: "if (false) {",
    tests: WATCHED,
  },
  {
    name: "leader-lapses",
    guard: "An instance that cannot renew its leader lease stops before another can take it.",
    file: "src/app/jobs/background-worker.ts",
    find: "setTimeout(() => this.#stopLeading(), this.#leaseMs * LOCAL_SHARE)",
    replace: "setTimeout(() => {}, this.#leaseMs * LOCAL_SHARE)",
    tests: ["test/app/jobs/background-worker.test.ts"],
  },
];
