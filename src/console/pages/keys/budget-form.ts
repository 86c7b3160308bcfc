import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BudgetLimits, BudgetLimitsSchema } from "#gen/toolgate/v1/budget_pb.ts";
import { MAX_USD } from "../../format.ts";
import { parseAmount, type AmountRange } from "../deposit/amount.ts";

/** Limits per period as typed; empty: no limit. */
export interface BudgetForm {
  perDay: string;
  perMonth: string;
  inAll: string;
  /** Percent of a limit. */
  warnPercent: string;
}

export const EMPTY_BUDGET: BudgetForm = { perDay: "", perMonth: "", inAll: "", warnPercent: "80" };

const AMOUNTS = ["perDay", "perMonth", "inAll"] as const;

const LIMIT_RANGE: AmountRange = [1n, MAX_USD];

export function budgetErrors(form: BudgetForm): Partial<Record<keyof BudgetForm, string>> {
  const errors: Partial<Record<keyof BudgetForm, string>> = {};
  for (const field of AMOUNTS) {
    const problem = limitError(form[field]);
    if (problem !== undefined) errors[field] = problem;
  }
  if (!/^(?:[1-9]\d?|100)$/.test(form.warnPercent.trim()))
    errors.warnPercent = "Enter a whole number from 1 to 100";
  return errors;
}

export function limitError(text: string): string | undefined {
  const amount = parseAmount(text, LIMIT_RANGE);
  return text.trim() !== "" && "problem" in amount ? amount.problem : undefined;
}

/** Returns micro-USD; undefined without a limit. */
export function limitOf(text: string): bigint | undefined {
  const amount = parseAmount(text, LIMIT_RANGE);
  return "microUsd" in amount ? amount.microUsd : undefined;
}

export function limitText(microUsd: bigint | undefined): string {
  if (microUsd === undefined) return "";
  const cents = (microUsd % 1_000_000n).toString().padStart(6, "0");
  return `${microUsd / 1_000_000n}.${cents.slice(0, 2)}${cents.slice(2).replace(/0+$/, "")}`;
}

type Limits = Pick<
  BudgetLimits,
  "dayUsdcMicrousd" | "monthUsdcMicrousd" | "totalUsdcMicrousd" | "warnPercent"
>;

export function budgetFormOf(limits: Limits): BudgetForm {
  return {
    perDay: limitText(limits.dayUsdcMicrousd),
    perMonth: limitText(limits.monthUsdcMicrousd),
    inAll: limitText(limits.totalUsdcMicrousd),
    warnPercent: String(limits.warnPercent ?? EMPTY_BUDGET.warnPercent),
  };
}

export function budgetOf(form: BudgetForm) {
  const [day, month, total] = [limitOf(form.perDay), limitOf(form.perMonth), limitOf(form.inAll)];
  return {
    ...(day !== undefined && { dayUsdcMicrousd: day }),
    ...(month !== undefined && { monthUsdcMicrousd: month }),
    ...(total !== undefined && { totalUsdcMicrousd: total }),
    warnPercent: Number(form.warnPercent),
  } satisfies MessageInitShape<typeof BudgetLimitsSchema>;
}
