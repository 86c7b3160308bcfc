import { useMutation } from "@connectrpc/connect-query";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { TreasuryService } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { formatUsd } from "../format.ts";
import { reload } from "../reload.ts";
import { showToast } from "../ui/index.ts";
import { ReasonDialog } from "./reason-field.tsx";
import { refreshAccounts } from "./refresh-account.ts";

/** Refunds a receipt to its account. A receipt is refunded once, so a retry is safe. */
export function RefundDialog({ receipt, onClose }: { receipt: Receipt; onClose: () => void }) {
  const { mutate, reset, error, isPending } = useMutation(TreasuryService.method.refundReceipt, {
    onSuccess: refreshReceipts,
  });
  const amount = formatUsd(receipt.debitedUsdcMicrousd);
  const onSuccess = ({ refunded }: { refunded: boolean }) => {
    showToast(refunded ? `${amount} refunded` : "The receipt was refunded before");
    onClose();
  };
  return (
    <ReasonDialog
      about={receipt.receiptId}
      title={`Refund ${amount}?`}
      onClose={onClose}
      action={`Refund ${amount}`}
      tone="danger"
      busy={isPending}
      error={error}
      hint="Visible to the account holder in the statement"
      reset={reset}
      onReason={(reason) => mutate({ receiptId: receipt.receiptId, reason }, { onSuccess })}
    >
      <p>The amount is added to the account’s balance. This cannot be undone.</p>
    </ReasonDialog>
  );
}

async function refreshReceipts(): Promise<void> {
  await Promise.all([refreshAccounts(), reload(HistoryService.method.getReceipt), reload("receipts")]);
}
