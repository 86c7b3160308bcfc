import { createConnectQueryKey, useMutation } from "@connectrpc/connect-query";
import { useState, type MouseEvent } from "react";
import { HistoryService } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { TreasuryService } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { formatUsd } from "../format.ts";
import { queryClient } from "../rpc.ts";
import { Button, Dialog, ErrorNote, focusInvalidField, showToast } from "../ui/index.ts";
import { ReasonField } from "./operator/reason-field.tsx";
import { refreshAccounts } from "./operator/refresh-account.ts";

/** Refunds a receipt to its account. A receipt is refunded once, so a retry is safe. */
export function RefundDialog({ receipt, onClose }: { receipt: Receipt; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const [submitted, setSubmitted] = useState(false);
  const { mutate, reset, error, isPending } = useMutation(TreasuryService.method.refundReceipt, {
    onSuccess: refreshReceipts,
  });
  const amount = formatUsd(receipt.debitedUsdcMicrousd);
  const refund = (event: MouseEvent) => {
    setSubmitted(true);
    focusInvalidField(event.currentTarget);
    if (reason.trim() === "") return;
    mutate(
      { receiptId: receipt.receiptId, reason: reason.trim() },
      {
        onSuccess: ({ refunded }) => {
          showToast(refunded ? `${amount} refunded` : "The receipt was refunded before");
          onClose();
        },
      },
    );
  };
  return (
    <Dialog
      open
      title={`Refund ${amount}?`}
      onClose={onClose}
      actions={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button tone="danger" busy={isPending} onClick={refund}>
            Refund {amount}
          </Button>
        </>
      }
    >
      <p>The amount is added to the account’s balance. This cannot be undone.</p>
      <ReasonField
        hint="Visible to the account holder in the statement"
        value={reason}
        error={submitted && reason.trim() === "" ? "Enter a reason" : undefined}
        onChange={(text) => {
          setReason(text);
          reset();
        }}
      />
      <ErrorNote error={error} />
    </Dialog>
  );
}

async function refreshReceipts(): Promise<void> {
  const queryKey = createConnectQueryKey({ schema: HistoryService.method.getReceipt, cardinality: "finite" });
  await Promise.all([
    refreshAccounts(),
    queryClient.invalidateQueries({ queryKey }),
    queryClient.invalidateQueries({ queryKey: ["list", "receipts"] }),
  ]);
}
