import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  BalanceService,
  type Entry as EntryMessage,
  EntryKind,
  EntrySchema,
  type GetUsageRequest,
  type Usage as UsageMessage,
  UsageDimension,
  UsageSchema,
} from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { MAX_ACTIVE_KEYS } from "../../../app/accounts/api-keys.ts";
import type * as app from "../../../app/accounts/statements.ts";
import type {
  Usage,
  UsageDimension as Dimension,
  UsageQuery,
  UsageReport,
  UsageReports,
} from "../../../app/accounts/usage.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { accountIdIn, keyIdIn, modelIn, toolIn, dateIn } from "../request-fields.ts";
import { DEFAULT_LIMIT } from "../page.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";
import { unpaidTimeOf } from "../../unpaid-time.ts";

export interface BalanceDeps {
  readonly statements: app.Statements;
  readonly usageReports: UsageReports;
}

/** The account's balance, statement and usage, for the account holder. */
export function balanceService({ statements, usageReports }: BalanceDeps): ServiceBinding {
  return bind(BalanceService, KEY, {
    async getBalance(_request, { caller }) {
      const { available, held, spentToday, spent30Days, lowBalance, ...limits } = await statements.balance(
        caller.accountId,
      );
      const { tier, accountTier } = limits;
      const unpaid = unpaidTimeOf(accountTier);
      return {
        balanceUsdcMicrousd: available,
        heldUsdcMicrousd: held,
        spentTodayUsdcMicrousd: spentToday,
        spent30DaysUsdcMicrousd: spent30Days,
        lowBalanceUsdcMicrousd: lowBalance,
        low: lowBalance !== undefined && available < lowBalance,
        ratePerMinute: tier.ratePerMinute,
        burst: tier.burst,
        keyLimit: MAX_ACTIVE_KEYS,
        accountRatePerMinute: accountTier.ratePerMinute,
        accountBurst: accountTier.burst,
        unpaidMsPerMinute: Math.round(unpaid.ratePerMinute),
        unpaidBurstMs: Math.round(unpaid.burst),
      };
    },
    async setLowBalance({ lowBalanceUsdcMicrousd }, { caller }) {
      await statements.setLowBalance(caller.accountId, lowBalanceUsdcMicrousd);
      return {};
    },
    async listEntries({ limit = DEFAULT_LIMIT, cursor, accountId }, { caller }) {
      const { items, nextCursor } = await statements.entries({
        accountId: accountIdIn(accountId, caller),
        limit,
        cursor,
      });
      return { items: items.map(entryMessage), nextCursor };
    },
    async getUsage(request, { caller }) {
      const from = dateIn("from", request.from);
      if (!from) throw invalidField("from", "must be there");
      return usageResponse(await usageReports.usage(usageQueryOf(request, from, caller.accountId)));
    },
  });
}

const ENTRY_KIND: Readonly<Record<app.EntryKind, EntryKind>> = {
  deposit: EntryKind.DEPOSIT,
  assignment: EntryKind.ASSIGNMENT,
  charge: EntryKind.CHARGE,
  refund: EntryKind.REFUND,
  reversal: EntryKind.REVERSAL,
  reinstatement: EntryKind.REINSTATEMENT,
  adjustment: EntryKind.ADJUSTMENT,
  clearing: EntryKind.CLEARING,
};

function usageQueryOf(request: GetUsageRequest, from: Date, accountId: string): UsageQuery {
  return {
    accountId,
    from,
    to: dateIn("to", request.to),
    hourly: request.hourly,
    timeZone: request.timeZone || "UTC",
    by: DIMENSION[request.by],
    tool: toolIn("tool", request.tool),
    keyId: keyIdIn("key_id", request.keyId),
    model: modelIn("model", request.model),
  };
}

function usageResponse(report: UsageReport) {
  return {
    buckets: report.buckets.map(({ start, usage, latency }) => ({
      start: timestampFromDate(start),
      usage: usageMessage(usage),
      ...(latency && { latency }),
    })),
    series: report.series.map(({ value, usage }) => ({
      ...(value !== undefined && { value }),
      usage: usage.map(usageMessage),
    })),
    models: report.models.map(({ model, usage }) => ({ model, usage: usageMessage(usage) })),
    tools: report.tools.map(({ tool, usage }) => ({ tool, usage: usageMessage(usage) })),
    keys: report.keys.map(({ keyId, name, usage }) => ({
      keyId: keyId ?? "",
      name,
      usage: usageMessage(usage),
    })),
    failures: report.failures,
    total: usageMessage(report.total),
  };
}

const DIMENSION: Readonly<Record<UsageDimension, Dimension | undefined>> = {
  [UsageDimension.UNSPECIFIED]: undefined,
  [UsageDimension.TOOL]: "tool",
  [UsageDimension.KEY]: "key",
  [UsageDimension.MODEL]: "model",
  [UsageDimension.OUTCOME]: "outcome",
};

function entryMessage({ kind, amount, balance, createdAt, ...entry }: app.Entry): EntryMessage {
  return create(EntrySchema, {
    ...entry,
    kind: ENTRY_KIND[kind],
    amountUsdcMicrousd: amount,
    balanceUsdcMicrousd: balance,
    createdAt: timestampFromDate(createdAt),
  });
}

function usageMessage({ charged, spent, failed }: Usage): UsageMessage {
  return create(UsageSchema, { chargedCalls: charged, spentUsdcMicrousd: spent, failedCalls: failed });
}
