import type { MicroUsd } from "../core/money.ts";
import type { AccessLimits } from "./caller.ts";

/** A day or month in UTC, or all time. */
export const BUDGET_PERIODS = ["day", "month", "total"] as const;

export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Maximum taken from the balance, micro-USD; undefined: unlimited. Calls paid on the chain do not count. */
export interface BudgetLimits {
  perDay: MicroUsd | undefined;
  perMonth: MicroUsd | undefined;
  inAll: MicroUsd | undefined;
  warnPercent: number;
}

/** The {@link BudgetLimits.warnPercent} of a budget that sets none. */
export const DEFAULT_WARN_PERCENT = 80;

/** All limits of an API key besides its scopes. */
export interface KeyLimits extends AccessLimits, BudgetLimits {}

export const NO_BUDGET: BudgetLimits = {
  perDay: undefined,
  perMonth: undefined,
  inAll: undefined,
  warnPercent: DEFAULT_WARN_PERCENT,
};

export const NO_LIMITS: KeyLimits = {
  ...NO_BUDGET,
  expiresAt: undefined,
  perCall: undefined,
  tools: undefined,
};

/** Whether both limit the same; a member that is left out limits nothing. */
export function isSameLimits(one: Partial<KeyLimits> | undefined, two: Partial<KeyLimits>): boolean {
  return textOf(one) === textOf(two);
}

function textOf(limits: Partial<KeyLimits> | undefined): string {
  const { tools, ...others } = { ...NO_LIMITS, ...limits };
  return `${Object.values(others)
    .map((limit) => limit?.valueOf())
    .join()} ${tools ? [...tools].sort().join() : "all"}`;
}

/** Whether a key has to have a budget: for limits, or for a warning level that was set before its limits. */
export function isBudget({ perDay, perMonth, inAll, warnPercent }: BudgetLimits): boolean {
  return (
    [perDay, perMonth, inAll].some((limit) => limit !== undefined) || warnPercent !== DEFAULT_WARN_PERCENT
  );
}

/** One period of a budget now. Amounts in micro-USD. */
export interface BudgetUse {
  period: BudgetPeriod;
  /** Undefined: unlimited. */
  limit: MicroUsd | undefined;
  spent: MicroUsd;
  /** Held by calls that run. */
  held: MicroUsd;
  /** When the period ends; undefined: never. */
  resetsAt: Date | undefined;
  /** The percentage that was reached; undefined: below the threshold. */
  reached: "threshold" | "limit" | undefined;
}

/** The limit of a key, or of its group, that refuses a call. Amounts in micro-USD. */
export interface ExceededLimit {
  /** Undefined: the key's own limit. */
  group: { groupId: string; name: string } | undefined;
  /** `call`: the highest price of a call. */
  period: BudgetPeriod | "call";
  limit: MicroUsd;
  /** Counted in the period, with what running calls hold. */
  spent: MicroUsd;
  /** Undefined: never. */
  resetsAt: Date | undefined;
  /** Whether an event says that the budget is exhausted, or none has to. */
  reported: boolean;
}
