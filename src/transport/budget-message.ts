import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  BudgetLevel,
  type BudgetLimits as BudgetLimitsMessage,
  BudgetPeriod,
  type BudgetUse as BudgetUseMessage,
  BudgetUseSchema,
  type KeyGroup as KeyGroupMessage,
  KeyGroupSchema,
} from "#gen/toolgate/v1/budget_pb.ts";
import {
  type ExceededLimit as ExceededLimitMessage,
  ExceededLimitSchema,
} from "#gen/toolgate/v1/error_pb.ts";
import type { GroupChange, KeyGroup } from "../app/accounts/api-keys.ts";
import type { LimitReachedError } from "../app/calls/call-errors.ts";
import { type BudgetLimits, type BudgetUse, DEFAULT_WARN_PERCENT } from "../domain/accounts/budget.ts";
import { nameOf, nothingToChange } from "../domain/accounts/new-key.ts";

const PERIODS = {
  day: BudgetPeriod.DAY,
  month: BudgetPeriod.MONTH,
  total: BudgetPeriod.TOTAL,
  call: BudgetPeriod.CALL,
} as const;

export function useMessage({ period, limit, spent, held, resetsAt, reached }: BudgetUse): BudgetUseMessage {
  const level = { threshold: BudgetLevel.THRESHOLD, limit: BudgetLevel.LIMIT } as const;
  return create(BudgetUseSchema, {
    period: PERIODS[period],
    ...(limit !== undefined && { limitUsdcMicrousd: limit }),
    spentUsdcMicrousd: spent,
    heldUsdcMicrousd: held,
    resetsAt: resetsAt && timestampFromDate(resetsAt),
    reached: reached ? level[reached] : BudgetLevel.UNSPECIFIED,
  });
}

/** The members of a message that are set for limits. */
export function budgetFields({ perDay, perMonth, inAll, warnPercent }: BudgetLimits) {
  return {
    ...(perDay !== undefined && { dayUsdcMicrousd: perDay }),
    ...(perMonth !== undefined && { monthUsdcMicrousd: perMonth }),
    ...(inAll !== undefined && { totalUsdcMicrousd: inAll }),
    warnPercent,
  };
}

export function requestedBudget(
  limits: Omit<BudgetLimitsMessage, "$typeName" | "$unknown"> | undefined,
): BudgetLimits {
  const { dayUsdcMicrousd, monthUsdcMicrousd, totalUsdcMicrousd, warnPercent } = limits ?? {};
  return {
    perDay: dayUsdcMicrousd,
    perMonth: monthUsdcMicrousd,
    inAll: totalUsdcMicrousd,
    warnPercent: warnPercent ?? DEFAULT_WARN_PERCENT,
  };
}

/** Common members of the requests that change a group. @throws ToolgateError INVALID_REQUEST */
export function requestedGroupChange({
  name,
  limits,
  expectedLimits,
}: {
  readonly name?: string | undefined;
  readonly limits?: BudgetLimitsMessage | undefined;
  readonly expectedLimits?: BudgetLimitsMessage | undefined;
}): Pick<GroupChange, "name" | "limits" | "expected"> {
  if (name === undefined && limits === undefined) throw nothingToChange("name or limits");
  return {
    name: name === undefined ? undefined : nameOf(name),
    limits: limits && requestedBudget(limits),
    expected: expectedLimits && requestedBudget(expectedLimits),
  };
}

export function groupMessage({ limits, budgets, keyIds, createdAt, ...group }: KeyGroup): KeyGroupMessage {
  return create(KeyGroupSchema, {
    groupId: group.groupId,
    accountId: group.accountId,
    name: group.name,
    limits: budgetFields(limits),
    budgets: budgets.map(useMessage),
    keyIds: [...keyIds],
    createdAt: timestampFromDate(createdAt),
  });
}

/** The limit that refused a call. */
export function exceededLimitMessage({
  limit: exceeded,
  call: { price },
  approvalUrl,
}: LimitReachedError): ExceededLimitMessage {
  const { group, period, limit, spent, resetsAt } = exceeded;
  return create(ExceededLimitSchema, {
    period: PERIODS[period],
    ...(group && { groupId: group.groupId }),
    limitUsdcMicrousd: limit,
    spentUsdcMicrousd: spent,
    remainingUsdcMicrousd: spent < limit ? limit - spent : 0n,
    priceUsdcMicrousd: price,
    resetsAt: resetsAt && timestampFromDate(resetsAt),
    ...(approvalUrl !== undefined && { approvalUrl }),
  });
}
