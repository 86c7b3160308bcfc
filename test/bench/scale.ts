import type { Plan } from "./measure.ts";

/** How large things are. */
export interface Scale {
  /** How many "many accounts" are. */
  readonly accounts: number;
  /** Calls under way at once, one measurement each. */
  readonly connections: readonly number[];
  /** How many transfers the ledger has that is audited. */
  readonly transfers: number;
  /** How many transfers the ledgers have that are compared with each other, the smallest first. */
  readonly ledgers: readonly number[];
  /** Number of the late page of a list, the same for all sizes. */
  readonly farPage: number;
  /** How many accounts each of them has. */
  readonly ledgerAccounts: number;
  /** How many records have expired and are removed. */
  readonly expired: number;
  /** How many executions of the sandbox follow on each other. */
  readonly executions: number;
  /** How many gateways share a database, one measurement each; one of them is 1. */
  readonly instances: readonly number[];
  /** Whether to measure several instances with every load or only those that the prediction needs. */
  readonly everyLoad: boolean;
  /** Purchases by x402 in a round. */
  readonly purchases: number;
  /** How many payments are proved in a round. */
  readonly proofs: number;
  /** Concurrent proofs while memory is measured, and the number of waves. */
  readonly proofsAtOnce: number;
  readonly proofWaves: number;
  /** How many connections stay open without calls, one measurement each. */
  readonly idleConnections: readonly number[];
  /** How many streams run at once while memory is measured. */
  readonly streams: number;
}

/** A way to run the benchmark. */
export interface Form {
  readonly plan: Plan;
  readonly scale: Scale;
  /** Parts that run in parallel on one gateway; undefined: in sequence, each with its own gateway. */
  readonly sideBySide?: number;
}

/** The form with meaningful figures. */
export const LONG: Form = {
  plan: { rounds: 5, windowMs: 2_500, warmUpMs: 700 },
  scale: {
    accounts: 1000,
    connections: [16, 64],
    transfers: 1_000_000,
    ledgers: [10_000, 1_000_000],
    farPage: 100,
    ledgerAccounts: 100_000,
    expired: 1_000_000,
    executions: 500,
    instances: [1, 2, 4],
    everyLoad: true,
    purchases: 60,
    proofs: 6_000,
    proofsAtOnce: 1_000,
    proofWaves: 8,
    idleConnections: [1_000, 5_000],
    streams: 500,
  },
};

/** The short form, a quarter of an hour: the same number of rounds, of one second. */
export const QUICK: Form = {
  plan: { rounds: 5, windowMs: 1_000, warmUpMs: 500 },
  scale: { ...LONG.scale, purchases: 20, proofs: 1_500, proofWaves: 2 },
};

/** The form that only checks that every part works. */
export const SHORT: Form = {
  plan: { rounds: 1, windowMs: 50, warmUpMs: 10 },
  scale: {
    accounts: 5,
    connections: [16],
    transfers: 5_000,
    ledgers: [1_000, 2_000],
    farPage: 5,
    ledgerAccounts: 100,
    expired: 10_000,
    executions: 10,
    instances: [1, 2],
    everyLoad: false,
    purchases: 2,
    proofs: 20,
    proofsAtOnce: 20,
    proofWaves: 2,
    idleConnections: [20],
    streams: 20,
  },
  sideBySide: 3,
};
