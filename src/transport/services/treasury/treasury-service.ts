import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type AssignSuspenseRequest,
  SuspendedTransferSchema,
  SuspenseStatus,
  TreasuryService,
  TreasuryWatchSchema,
} from "#gen/toolgate/v1/treasury_service_pb.ts";
import type { Refunds, TreasuryLedger, WatchState } from "../../../app/treasury/treasury-ledger.ts";
import type * as app from "../../../app/treasury/treasury-ledger.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { globalPageQuery } from "../page.ts";
import { receiptMessage } from "../calls/receipt-message.ts";
import { bind, OPERATOR, type ServiceBinding } from "../../endpoint.ts";

export interface TreasuryDeps {
  readonly suspense: app.Suspense;
  readonly refunds: Refunds;
  readonly treasuryLedger: Pick<TreasuryLedger, "watch" | "suspended">;
  /** The treasury's token account, base58. */
  readonly tokenAccount: string;
}

export function treasuryService(deps: TreasuryDeps): ServiceBinding {
  const { suspense, refunds, treasuryLedger, tokenAccount } = deps;
  return bind(TreasuryService, OPERATOR, {
    async listSuspense(request) {
      const { items, nextCursor } = await suspense.list(globalPageQuery(request, SUSPENSE_STATUS));
      return { items: items.map(transferMessage), nextCursor, hasMore: nextCursor !== undefined };
    },
    assignSuspense: {
      key: "required",
      action: {
        name: () => "suspense.assign",
        target: ({ txSignature }) => txSignature,
        idempotencyKey: ({ owner }) => (owner.case === "accountId" ? owner.value : "operator"),
      },
      async handle({ txSignature, owner, reason }) {
        return {
          transfer: transferMessage(await suspense.assign({ txSignature, to: ownerOf(owner), reason })),
        };
      },
    },
    refundReceipt: {
      key: "required",
      action: {
        name: () => "receipt.refund",
        target: ({ receiptId }) => receiptId,
        idempotencyKey: () => "",
      },
      async handle({ receiptId, reason }) {
        const { receipt, refunded } = await refunds.refund({ receiptId, reason });
        return { receipt: receiptMessage(receipt), refunded };
      },
    },
    async getTreasury() {
      const [watch, { count, amount }] = await Promise.all([
        treasuryLedger.watch(tokenAccount),
        treasuryLedger.suspended(),
      ]);
      return {
        tokenAccount,
        watch: watch && watchMessage(watch),
        suspenseCount: BigInt(count),
        suspenseUsdcMicrousd: amount,
      };
    },
  });
}

const SUSPENSE_STATUS: Readonly<Record<app.SuspenseStatus, SuspenseStatus>> = {
  open: SuspenseStatus.OPEN,
  assigned: SuspenseStatus.ASSIGNED,
};

function ownerOf(owner: AssignSuspenseRequest["owner"]): app.SuspenseRecipient {
  switch (owner.case) {
    case "accountId":
      return { accountId: owner.value };
    case "operator":
      return "operator";
    default:
      throw invalidField("owner", "is required");
  }
}

function transferMessage(transfer: app.SuspendedTransfer) {
  const { txSignature, amount, memos, payer, blockTime, status, assignedTo, reason } = transfer;
  return create(SuspendedTransferSchema, {
    txSignature,
    memos,
    payer,
    reason,
    amountUsdcMicrousd: amount,
    blockTime: timestampFromDate(blockTime),
    status: SUSPENSE_STATUS[status],
    owner: ownerMember(assignedTo),
  });
}

function ownerMember(
  owner: app.SuspenseRecipient | undefined,
): NonNullable<MessageInitShape<typeof SuspendedTransferSchema>["owner"]> {
  if (owner === undefined) return { case: undefined };
  return owner === "operator"
    ? { case: "operator", value: true }
    : { case: "accountId", value: owner.accountId };
}

function watchMessage({ opening, expected, slot, checkedAt }: WatchState) {
  return create(TreasuryWatchSchema, {
    openingUsdcMicrousd: opening,
    expectedUsdcMicrousd: expected,
    slot,
    lookedAt: timestampFromDate(checkedAt),
  });
}
