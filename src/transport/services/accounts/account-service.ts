import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Account as AccountMessage,
  AccountSchema,
  AccountService,
} from "#gen/toolgate/v1/account_service_pb.ts";
import type { Account, Accounts } from "../../../app/accounts/accounts.ts";
import { DEFAULT_LIMIT } from "../page.ts";
import { bind, OPERATOR, type ServiceBinding } from "../../endpoint.ts";

export function accountService(accounts: Accounts): ServiceBinding {
  return bind(AccountService, OPERATOR, {
    createAccount: {
      key: "required",
      action: { name: () => "account.create", target: ({ wallet }) => wallet, idempotencyKey: () => "" },
      async handle({ wallet }) {
        return { account: accountMessage(await accounts.create(wallet)) };
      },
    },
    getAccount: {
      key: "required",
      action: "none",
      async handle({ accountId }) {
        return { account: accountMessage(await accounts.get(accountId)) };
      },
    },
    adjustBalance: {
      key: "required",
      action: {
        name: () => "account.adjust",
        target: ({ accountId }) => accountId,
        idempotencyKey: ({ amountUsdcMicrousd, idempotencyKey }) => `${amountUsdcMicrousd} ${idempotencyKey}`,
      },
      async handle({ accountId, amountUsdcMicrousd, reason, idempotencyKey }) {
        return {
          account: accountMessage(
            await accounts.adjust({ accountId, amount: amountUsdcMicrousd, reason, idempotencyKey }),
          ),
        };
      },
    },
    setTier: {
      key: "required",
      action: { name: () => "account.tier", target: ({ accountId }) => accountId },
      async handle({ accountId, tier, ratePerMinute, burst, accountRatePerMinute, accountBurst }) {
        const limits = { tier, ratePerMinute, burst, accountRatePerMinute, accountBurst };
        return { account: accountMessage(await accounts.setTier(accountId, limits)) };
      },
    },
    async listAccounts({ query, limit = DEFAULT_LIMIT, cursor }) {
      const { items, nextCursor } = await accounts.list({ query, limit, cursor });
      return { items: items.map(accountMessage), nextCursor };
    },
    setBlocked: {
      key: "required",
      action: {
        name: ({ blocked }) => (blocked ? "account.block" : "account.unblock"),
        target: ({ accountId }) => accountId,
      },
      async handle({ accountId, blocked, reason }) {
        return { account: accountMessage(await accounts.setBlocked(accountId, { blocked, reason })) };
      },
    },
  });
}

function accountMessage({
  accountId,
  wallet,
  balance,
  tierName,
  tier,
  accountTier,
  operator,
  blockedReason,
  createdAt,
}: Account): AccountMessage {
  const { ratePerMinute, burst } = tier;
  return create(AccountSchema, {
    accountId,
    wallet,
    balanceUsdcMicrousd: balance,
    tier: tierName,
    ratePerMinute,
    burst,
    accountRatePerMinute: accountTier.ratePerMinute,
    accountBurst: accountTier.burst,
    operator,
    blockedReason,
    createdAt: timestampFromDate(createdAt),
  });
}
