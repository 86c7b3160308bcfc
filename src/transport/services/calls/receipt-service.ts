import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import type { Receipts } from "../../../app/calls/history.ts";
import { found, pageQuery } from "../page.ts";
import { RECEIPT_STATUS, receiptMessage } from "./receipt-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/** The caller's receipts (specification 4.5). */
export function receiptService(receipts: Receipts): ServiceBinding<typeof ReceiptService> {
  return bind(ReceiptService, {
    listReceipts: {
      key: "key-or-sign-in",
      scope: "billing:read",
      async call(request, { caller }) {
        const { items, nextCursor } = await receipts.list(
          pageQuery(caller.accountId, request, RECEIPT_STATUS),
        );
        return { items: items.map(receiptMessage), nextCursor, hasMore: nextCursor !== undefined };
      },
    },
    getReceipt: {
      key: "key-or-sign-in",
      scope: "billing:read",
      async call({ id }, { caller }) {
        return { receipt: receiptMessage(found(await receipts.find(caller.accountId, id), "receipt")) };
      },
    },
  });
}
