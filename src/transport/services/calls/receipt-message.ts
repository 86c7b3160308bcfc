import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  PaidBy,
  type Receipt as ReceiptMessage,
  ReceiptSchema,
  ReceiptStatus,
} from "#gen/toolgate/v1/receipt_pb.ts";
import type * as domain from "../../../domain/calls/receipt.ts";

/** Returns the receipt message (specification 2.5). Members of the same name and type need no line here. */
export function receiptMessage(receipt: domain.Receipt): ReceiptMessage {
  return create(ReceiptSchema, {
    ...receipt,
    quotedUsdcMicrousd: receipt.quoted,
    debitedUsdcMicrousd: receipt.debited,
    refundedUsdcMicrousd: receipt.refunded,
    paidBy: PAID_BY[receipt.paidBy],
    status: RECEIPT_STATUS[receipt.status],
    createdAt: timestampFromDate(receipt.createdAt),
  });
}

export const RECEIPT_STATUS: Readonly<Record<domain.ReceiptStatus, ReceiptStatus>> = {
  final: ReceiptStatus.FINAL,
  refunded: ReceiptStatus.REFUNDED,
  reversed: ReceiptStatus.REVERSED,
};

const PAID_BY: Readonly<Record<domain.PaidBy, PaidBy>> = {
  balance: PaidBy.BALANCE,
  transfer: PaidBy.TRANSFER,
  gasless: PaidBy.GASLESS,
};
