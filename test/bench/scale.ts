import type { Plan } from "./measure.ts";

/** How large things are. */
export interface Scale {
  /** How many "many accounts" are. */
  readonly accounts: number;
  /** Calls under way at once, one measurement each. */
  readonly connections: readonly number[];
  /** How many transfers the ledger has that is audited. */
  readonly transfers: number;
  /** How many executions of the sandbox follow on each other. */
  readonly executions: number;
}

/** A way to run the benchmark. */
export interface Form {
  readonly plan: Plan;
  readonly scale: Scale;
  /** How many parts run side by side. */
  readonly atOnce: number;
}

/** The one whose figures tell something. */
export const LONG: Form = {
  plan: { rounds: 5, windowMs: 2_500, warmUpMs: 700 },
  scale: { accounts: 1000, connections: [16, 64], transfers: 1_000_000, executions: 500 },
  atOnce: 1,
};

/** The one that shows that everything works. */
export const SHORT: Form = {
  plan: { rounds: 1, windowMs: 200, warmUpMs: 50 },
  scale: { accounts: 5, connections: [16], transfers: 5_000, executions: 20 },
  atOnce: 3,
};
