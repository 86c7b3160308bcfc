import type { Mutant } from "./mutant.ts";

const LIMIT = ["test/app/calls/unpaid-work.test.ts"];
const INFERENCE = ["test/inference/odd-answers.test.ts"];
const REGISTERED = ["test/tools/custom/parameter-check.test.ts"];

/** Work done is charged; uncharged work is limited. */
export const UNPAID_WORK: readonly Mutant[] = [
  {
    name: "unpaid-work-refused",
    guard: "An account with too much uncharged work is refused.",
    file: "src/app/calls/unpaid-work.ts",
    find: "if (heldMs <= 0) return;",
    replace: "return;",
    tests: LIMIT,
  },
  {
    name: "unpaid-work-counted",
    guard: "A call that fails after a server worked for it is counted.",
    file: "src/app/calls/run-and-capture.ts",
    find: "failure.worked && tool.billable ?",
    replace: "false ?",
    tests: LIMIT,
  },
  {
    name: "unpaid-work-unquoted",
    guard: "A call that would be refused gets no quote.",
    file: "src/app/calls/authorize-call.ts",
    find: "if (!payment) requireAllowance(deps.unpaidWork, tool, accountId);",
    replace: "",
    tests: LIMIT,
  },
  {
    name: "faults-by-account",
    guard: "Faults of one account do not block other accounts.",
    file: "src/domain/core/account-breaker.ts",
    find: "if (!this.#met.has(accountId) && this.#met.size < ACCOUNTS_TO_OPEN) {",
    replace: "if (true) {",
    tests: ["test/domain/core/account-breaker.test.ts"],
  },
  {
    name: "claim-by-account",
    guard: "Claims of different accounts differ for the servers behind tools.",
    file: "src/app/calls/claim-digest.ts",
    find: 'createHmac("sha256", accountId)',
    replace: 'createHmac("sha256", "")',
    tests: ["test/app/calls/claim-digest.test.ts"],
  },
  {
    name: "timeout-delivered",
    guard: "Output that arrives before a time limit is delivered.",
    file: "src/inference/upstream.ts",
    find: 'if (state.late || state.stalled) return "timeout";',
    replace: "",
    tests: INFERENCE,
    only: "delivers a partial answer",
  },
  {
    name: "deep-answer-delivered",
    guard: "A result nested too deeply is delivered with a placeholder.",
    file: "src/tools/custom/deliverable.ts",
    find: "if (levels === 1 && sizeOf(value, levels) === undefined)",
    replace: "if (false)",
    tests: REGISTERED,
  },
];
