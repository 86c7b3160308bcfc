import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Deposit as DepositMessage,
  DepositSchema,
  DepositService,
  DepositState,
} from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import type { AccountDeposits } from "../../../app/deposits/account-deposits.ts";
import type { TrackedDeposit } from "../../../app/deposits/deposit-tracker.ts";
import type * as domain from "../../../domain/deposits/deposit.ts";
import { depositMemo } from "../../../domain/payments/memo.ts";
import { displayUsd } from "../../../domain/core/money.ts";
import { solanaPayUrl } from "../../../domain/deposits/solana-pay.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

const DEFAULT_LIMIT = 20;

/** Addresses of the treasury, base58. */
export interface DepositTreasury {
  readonly owner: string;
  readonly tokenAccount: string;
  readonly mint: string;
}

export interface DepositServiceDeps {
  readonly deposits: AccountDeposits;
  readonly treasury: DepositTreasury;
  readonly memoPrefix: string;
}

export function depositService(deps: DepositServiceDeps): ServiceBinding {
  const { deposits } = deps;
  return bind(DepositService, KEY, {
    createDeposit: {
      key: "required",
      refuseBlocked: true,
      async handle({ amountUsdcMicrousd }, { caller }) {
        return {
          deposit: depositMessage(deps, await deposits.create(caller.accountId, amountUsdcMicrousd)),
        };
      },
    },
    async getDeposit({ depositId }, { caller, signal }) {
      return { deposit: depositMessage(deps, await deposits.get(caller.accountId, depositId, signal)) };
    },
    async listDeposits({ limit = DEFAULT_LIMIT, cursor }, { caller: { accountId } }) {
      const { items, nextCursor } = await deposits.list({ accountId, limit, cursor });
      return { items: items.map((status) => depositMessage(deps, status)), nextCursor };
    },
    async cancelDeposit({ depositId }, { caller, signal }) {
      return { deposit: depositMessage(deps, await deposits.cancel(caller.accountId, depositId, signal)) };
    },
    async buildDepositTransaction({ depositId, payer }, { caller, signal }) {
      return { transaction: await deposits.buildDeposit(caller.accountId, { depositId, payer }, signal) };
    },
    async buildQuoteTransaction({ quoteId, payer }, { caller, signal }) {
      return { transaction: await deposits.buildQuote(caller.accountId, { quoteId, payer }, signal) };
    },
    async sendTransaction({ transaction, depositId }, { caller, signal }) {
      return { txSignature: await deposits.send(caller.accountId, { transaction, depositId }, signal) };
    },
  });
}

function depositMessage(
  { treasury, memoPrefix }: DepositServiceDeps,
  { deposit, status }: TrackedDeposit,
): DepositMessage {
  const { depositId, amount, reference, createdAt, credited, creditedAt } = deposit;
  const memo = depositMemo(depositId, memoPrefix);
  return create(DepositSchema, {
    depositId,
    amountUsdcMicrousd: amount,
    state: STATES[status.state],
    memo,
    reference,
    recipient: treasury.owner,
    tokenAccount: treasury.tokenAccount,
    usdcMint: treasury.mint,
    solanaPayUrl: solanaPayUrl({
      recipient: treasury.owner,
      amount,
      splToken: treasury.mint,
      reference,
      label: "Toolgate",
      message: `Deposit of ${displayUsd(amount)}`,
      memo,
    }),
    txSignature: status.txSignature,
    creditedUsdcMicrousd: credited,
    failure: status.failure,
    createdAt: timestampFromDate(createdAt),
    creditedAt: creditedAt && timestampFromDate(creditedAt),
  });
}

const STATES: Readonly<Record<domain.DepositState, DepositState>> = {
  waiting: DepositState.WAITING,
  seen: DepositState.SEEN,
  confirmed: DepositState.CONFIRMED,
  finalized: DepositState.FINALIZED,
  credited: DepositState.CREDITED,
  failed: DepositState.FAILED,
  unassigned: DepositState.UNASSIGNED,
  cancelled: DepositState.CANCELLED,
};
