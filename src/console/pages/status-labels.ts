import { EntryKind } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { PaidBy, ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";

/** A status as it is shown: its word, and which picture and colour go with it. */
export interface StatusLabel {
  readonly text: string;
  readonly kind: "ok" | "bad" | "warn" | "wait" | "off";
}

/** Whether a charge stands. */
export function receiptStatusLabel(status: ReceiptStatus): StatusLabel {
  switch (status) {
    case ReceiptStatus.FINAL:
      return { text: "final", kind: "ok" };
    case ReceiptStatus.REFUNDED:
      return { text: "refunded", kind: "off" };
    case ReceiptStatus.REVERSED:
      return { text: "reversed", kind: "bad" };
    default:
      return { text: "unknown", kind: "off" };
  }
}

/** Where a run is in its life. */
export function runStatusLabel(status: RunStatus): StatusLabel {
  switch (status) {
    case RunStatus.ACTIVE:
      return { text: "running", kind: "wait" };
    case RunStatus.COMPLETED:
      return { text: "completed", kind: "ok" };
    case RunStatus.FAILED:
      return { text: "failed", kind: "bad" };
    case RunStatus.CANCELLED:
      return { text: "cancelled", kind: "off" };
    default:
      return { text: "unknown", kind: "off" };
  }
}

/** Where the money of a call came from. */
export function paymentMethodLabel(paidBy: PaidBy): string {
  switch (paidBy) {
    case PaidBy.BALANCE:
      return "balance";
    case PaidBy.TRANSFER:
      return "transfer";
    case PaidBy.GASLESS:
      return "gasless transfer";
    default:
      return "unknown";
  }
}

/** What an entry of the ledger is, as a statement says it. */
export function entryKindLabel(kind: EntryKind): string {
  switch (kind) {
    case EntryKind.DEPOSIT:
      return "Deposit";
    case EntryKind.ASSIGNMENT:
      return "Assigned payment";
    case EntryKind.CHARGE:
      return "Charge";
    case EntryKind.REFUND:
      return "Refund";
    case EntryKind.REVERSAL:
      return "Reversed payment";
    case EntryKind.REINSTATEMENT:
      return "Reinstated payment";
    case EntryKind.ADJUSTMENT:
      return "Adjustment";
    default:
      return "Entry";
  }
}
